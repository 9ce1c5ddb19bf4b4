# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Pages of --format html in headless Chromium. `make check-extra` installs what these tests need (scripts/deps.sh --for-extra);
without it they fail, and do not pass over anything."""
import pytest

from kit import browser, run


@pytest.fixture
def page(tmp_path):
    """page("findings", 300): a file with such a page (tests/tools/page.c)."""
    made = []

    def make(*args, form="html"):
        path = tmp_path / f"{len(made)}.{form}"
        made.append(path)
        with open(path, "wb") as f:
            f.write(run.run([run.page_tool(), form, *args]).ok().raw)
        return path

    return make


@pytest.fixture
def chromium(tmp_path):
    """chromium(...): a browser. At its end it has asked for its page alone, and complained of nothing, unless the test says so."""
    started = []

    def start(**kwargs):
        b = browser.Browser(tmp_path, **kwargs)
        started.append(b)
        return b

    yield start
    try:
        for b in started:
            b.log()
            asked = [url for url in b.requests if not url.startswith("file://" + str(tmp_path)) and not any(text in url for text in b.expected)]
            complained = [c for c in b.complaints if not any(text in str(c) for text in b.expected)]
            assert (asked, complained) == ([], [])
    finally:
        for b in started:
            b.stop()
