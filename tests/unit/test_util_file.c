/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Files are replaced whole or not at all. Writing is made to fail in forked children: by a limit
 * on the size of files, by a folder that a plain user may not write, by an owner that cannot be given.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ibqos/util.h"

#define NOBODY 65534
#define STALLED 99 /* the child could not set up its fault */

/* Each test runs in a folder of its own. */
static int enter_folder(void **state)
{
	char *folder = strdup("/tmp/ibqos-test-XXXXXX");

	if (!folder || !mkdtemp(folder) || chdir(folder) < 0 || chmod(folder, 0755) < 0)
		return -1;
	umask(022);
	*state = folder;
	return 0;
}

static int leave_folder(void **state)
{
	char *command;
	int rc;

	if (chdir("/") < 0 ||
	    asprintf(&command, "chmod -R u+rwx '%s' && rm -r '%s'", (char *)*state, (char *)*state) < 0)
		return -1;
	rc = system(command);
	free(command);
	free(*state);
	return rc;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fputs(text, file) < 0, 0);
	assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *path, const char *text)
{
	char *data = NULL;
	size_t size = 0;

	assert_int_equal(file_read(path, &data, &size), 0);
	assert_string_equal(data, text);
	assert_int_equal(size, strlen(text));
	free(data);
}

static unsigned entries(const char *path)
{
	DIR *folder = opendir(path);
	unsigned count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void test_read_whole_files(void **state)
{
	char *data = NULL;
	size_t size = 1;
	int fd;

	(void)state;
	put("empty", "");
	assert_holds("empty", "");
	put("some", "a\nb");
	assert_holds("some", "a\nb");
	fd = open("zeros", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, "a\0b", 3), 3);
	close(fd);
	assert_int_equal(file_read("zeros", &data, &size), 0);
	assert_int_equal(size, 3);
	assert_memory_equal(data, "a\0b", 4);
	free(data);
	/* says that it has no bytes, and has some */
	assert_int_equal(file_read("/proc/self/status", &data, &size), 0);
	assert_true(size > 100);
	assert_int_equal(strlen(data), size);
	free(data);
}

static void test_read_refusals(void **state)
{
	char *data = NULL;
	size_t size;
	int fd;

	(void)state;
	assert_int_equal(file_read("missing", &data, &size), -ENOENT);
	assert_int_equal(file_read(".", &data, &size), -EINVAL);
	assert_int_equal(file_read("/dev/zero", &data, &size), -EINVAL);
	assert_int_equal(mkfifo("fifo", 0644), 0);
	assert_int_equal(file_read("fifo", &data, &size), -EINVAL); /* and does not hang */
	fd = open("big", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(ftruncate(fd, FILE_READ_MAX), 0);
	assert_int_equal(file_read("big", &data, &size), 0);
	assert_int_equal(size, FILE_READ_MAX);
	free(data);
	data = NULL;
	assert_int_equal(ftruncate(fd, (off_t)FILE_READ_MAX + 1), 0);
	assert_int_equal(file_read("big", &data, &size), -EFBIG);
	close(fd);
	assert_null(data);
}

static void test_replace_new_and_old(void **state)
{
	struct stat before, after;

	(void)state;
	assert_int_equal(file_replace("conf", "one\n", 4, 0640), 0);
	assert_holds("conf", "one\n");
	assert_int_equal(mode_of("conf"), 0640);
	assert_int_equal(chmod("conf", 0604), 0);
	assert_int_equal(stat("conf", &before), 0);
	assert_int_equal(file_replace("conf", "two", 3, 0640), 0);
	assert_int_equal(stat("conf", &after), 0);
	assert_holds("conf", "two");
	assert_int_equal(mode_of("conf"), 0604);
	assert_true(before.st_ino != after.st_ino); /* a reader of the old one still reads all of it */
	assert_int_equal(file_replace("./conf", "", 0, 0640), 0);
	assert_holds("conf", "");
	assert_int_equal(entries("."), 1);
	/* what the umask would take away stays */
	assert_int_equal(file_replace("open", "x", 1, 0666), 0);
	assert_int_equal(mode_of("open"), 0666);
}

static void test_replace_keeps_owner(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	put("conf", "one");
	assert_int_equal(chown("conf", NOBODY, 12345), 0);
	assert_int_equal(chmod("conf", 0640), 0);
	assert_int_equal(file_replace("conf", "two", 3, 0600), 0);
	assert_int_equal(stat("conf", &st), 0);
	assert_int_equal(st.st_uid, NOBODY);
	assert_int_equal(st.st_gid, 12345);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_holds("conf", "two");
}

#define LABEL "system_u:object_r:etc_t:s0"
#define ACL "system.posix_acl_access"

static void assert_attribute(const char *path, const char *name, const void *wanted, size_t size)
{
	char value[256];
	ssize_t got = getxattr(path, name, value, sizeof(value));

	if (got != (ssize_t)size || memcmp(value, wanted, size) != 0)
		fail_msg("%s of %s: %zd bytes", name, path, got);
}

static void test_replace_keeps_attributes(void **state)
{
	/* version 2; owner rw, user 65534 r, group r, mask r, others none: tag, permissions, ID, little-endian */
	static const unsigned char acl[] = {2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 254, 255, 0, 0,
					    4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 4, 0, 255, 255, 255, 255,
					    32, 0, 0, 0, 255, 255, 255, 255};

	(void)state;
	if (geteuid() != 0)
		skip();
	put("conf", "one");
	if (setxattr("conf", "security.selinux", LABEL, strlen(LABEL), 0) != 0 || setxattr("conf", "user.empty", "", 0, 0) != 0 ||
	    setxattr("conf", ACL, acl, sizeof(acl), 0) != 0)
		skip(); /* a file system without */
	assert_int_equal(setxattr("conf", "trusted.mine", "x", 1, 0), 0);
	assert_int_equal(symlink("conf", "link"), 0);
	assert_int_equal(file_replace("link", "two", 3, 0600), 0);
	assert_holds("conf", "two");
	assert_attribute("conf", "security.selinux", LABEL, strlen(LABEL));
	assert_attribute("conf", "user.empty", "", 0);
	assert_attribute("conf", ACL, acl, sizeof(acl));
	assert_int_equal(mode_of("conf"), 0640);
	assert_int_equal(getxattr("conf", "trusted.mine", NULL, 0), -1);
	/* a folder that gives new files an ACL gives this one none: it had none */
	put("plain", "one");
	assert_int_equal(chmod("plain", 0640), 0);
	assert_int_equal(setxattr(".", "system.posix_acl_default", acl, sizeof(acl), 0), 0);
	assert_int_equal(file_replace("plain", "two", 3, 0600), 0);
	assert_int_equal(getxattr("plain", ACL, NULL, 0), -1);
	assert_int_equal(mode_of("plain"), 0640);
}

static void test_replace_follows_links(void **state)
{
	char link[64];

	(void)state;
	assert_int_equal(mkdir("etc", 0755), 0);
	assert_int_equal(mkdir("data", 0755), 0);
	put("data/real", "one");
	assert_int_equal(symlink("../data/middle", "etc/conf"), 0);
	assert_int_equal(symlink("real", "data/middle"), 0);
	assert_int_equal(file_replace("etc/conf", "two", 3, 0600), 0);
	assert_int_equal(readlink("etc/conf", link, sizeof(link)), 14);
	assert_int_equal(readlink("data/middle", link, sizeof(link)), 4);
	assert_holds("data/real", "two");
	assert_int_equal(entries("etc"), 1);
	assert_int_equal(entries("data"), 2);
	/* a link to nothing: its target is made */
	assert_int_equal(symlink("../data/new", "etc/later"), 0);
	assert_int_equal(file_replace("etc/later", "three", 5, 0600), 0);
	assert_holds("data/new", "three");
	assert_int_equal(readlink("etc/later", link, sizeof(link)), 11);
	/* links in a circle */
	assert_int_equal(symlink("b", "a"), 0);
	assert_int_equal(symlink("a", "b"), 0);
	assert_int_equal(file_replace("a", "x", 1, 0600), -ELOOP);
}

static void test_replace_refuses_other_things(void **state)
{
	(void)state;
	assert_int_equal(mkdir("folder", 0755), 0);
	assert_int_equal(file_replace("folder", "x", 1, 0600), -EISDIR);
	assert_int_equal(file_replace("folder/", "x", 1, 0600), -EISDIR);
	assert_int_equal(file_replace("missing/conf", "x", 1, 0600), -ENOENT);
	assert_int_equal(file_replace("", "x", 1, 0600), -ENOENT);
	assert_int_equal(mkfifo("fifo", 0644), 0);
	assert_int_equal(file_replace("fifo", "x", 1, 0600), -EINVAL);
	put("file", "");
	assert_int_equal(file_replace("file/conf", "x", 1, 0600), -ENOTDIR);
	assert_int_equal(file_replace("/dev/null", "x", 1, 0600), -EINVAL);
	assert_int_equal(entries("."), 3);
}

/* What file_replace() returns in a child that `setup` has put under a fault, as a positive errno. */
static int replace_under(void (*setup)(void), const char *path, const void *data, size_t size)
{
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		setup();
		_exit(-file_replace(path, data, size, 0600));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void limit_files(void)
{
	struct rlimit limit = {5000, 5000};

	/* write() then returns EFBIG, after a first short write */
	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) < 0)
		_exit(STALLED);
}

static void test_replace_when_disk_fills(void **state)
{
	char *large = malloc(100000);

	(void)state;
	assert_non_null(large);
	memset(large, 'n', 100000);
	put("conf", "old");
	assert_int_equal(replace_under(limit_files, "conf", large, 100000), EFBIG);
	assert_holds("conf", "old");
	assert_int_equal(entries("."), 1);
	/* and it is the limit that fails, nothing else */
	assert_int_equal(replace_under(limit_files, "conf", large, 5000), 0);
	assert_int_equal(replace_under(limit_files, "new", large, 5001), EFBIG);
	assert_int_equal(access("new", F_OK), -1);
	assert_int_equal(entries("."), 1);
	free(large);
}

static void become_nobody(void)
{
	if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
		_exit(STALLED);
}

static void test_replace_in_folder_not_writable(void **state)
{
	(void)state;
	put("conf", "old");
	assert_int_equal(chmod(".", 0555), 0);
	assert_int_equal(replace_under(become_nobody, "conf", "new", 3), EACCES);
	assert_int_equal(chmod(".", 0755), 0);
	assert_holds("conf", "old");
	assert_int_equal(entries("."), 1);
}

/* A plain user who may write the folder but is not the owner of the file: no new owner by stealth. */
static void test_replace_owner_not_givable(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	put("conf", "old");
	assert_int_equal(chmod(".", 0777), 0);
	assert_int_equal(replace_under(become_nobody, "conf", "new", 3), EPERM);
	assert_holds("conf", "old");
	assert_int_equal(entries("."), 1);
	assert_int_equal(chown("conf", NOBODY, NOBODY), 0);
	assert_int_equal(replace_under(become_nobody, "conf", "new", 3), 0);
	assert_holds("conf", "new");
}

static void test_make_folders(void **state)
{
	(void)state;
	assert_int_equal(dir_make("a/b//c/", 0750), 0);
	assert_int_equal(mode_of("a/b/c"), 0750);
	assert_int_equal(mode_of("a"), 0750);
	assert_int_equal(dir_make("a/b/c", 0700), 0);
	assert_int_equal(mode_of("a/b/c"), 0750);
	assert_int_equal(dir_make("/", 0755), 0);
	assert_int_equal(dir_make(".", 0755), 0);
	assert_int_equal(dir_make("", 0755), -ENOENT);
	put("file", "");
	assert_int_equal(dir_make("file", 0755), -ENOTDIR);
	assert_int_equal(dir_make("file/under", 0755), -ENOTDIR);
	assert_int_equal(symlink("a", "link"), 0);
	assert_int_equal(dir_make("link/d", 0755), 0);
	assert_int_equal(mode_of("a/d"), 0755);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(test_read_whole_files),          in_folder(test_read_refusals),
		in_folder(test_replace_new_and_old),       in_folder(test_replace_keeps_owner),
		in_folder(test_replace_follows_links),     in_folder(test_replace_refuses_other_things),
		in_folder(test_replace_when_disk_fills),   in_folder(test_replace_in_folder_not_writable),
		in_folder(test_replace_owner_not_givable), in_folder(test_make_folders),
		in_folder(test_replace_keeps_attributes),
	};

	return cmocka_run_group_tests_name("util-file", tests, NULL, NULL);
}
