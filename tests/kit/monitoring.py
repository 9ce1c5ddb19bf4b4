# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A real node_exporter and a real Prometheus, each on the loopback for one test session."""
import json
import os
import socket
import urllib.parse
import urllib.request

from kit import run

CONTRIB = os.path.join(run.TOP, "contrib")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=5) as r:
        return r.read().decode()


def answers(url):
    try:
        get(url)
        return True
    except OSError:
        return False


class Server:
    """A server of its own on the loopback, until stop()."""

    def __init__(self, argv, port, folder, ready):
        self.url, self.log = f"http://127.0.0.1:{port}", os.path.join(folder, "log")
        self._out = open(self.log, "wb")
        self.process = run.start([str(a) for a in argv], cwd=folder, stdout=self._out, stderr=self._out)
        try:
            run.deadline(30, argv[0], lambda: answers(self.url + ready), alive=lambda: self.process.poll() is None, evidence=self.said)
        except BaseException:
            self.stop()
            raise

    def said(self):
        self._out.flush()
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def stop(self):
        run.end(self.process)
        self._out.close()


def exporter(folder, textfiles):
    port = free_port()
    return Server(["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                   f"--collector.textfile.directory={textfiles}", f"--web.listen-address=127.0.0.1:{port}"], port, folder, "/metrics")


def scraping(target):
    """A configuration that takes what an exporter has, and evaluates the rules."""
    return ("global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{CONTRIB}/prometheus/ibqos.rules.yml]\n"
            "scrape_configs:\n  - job_name: node\n    static_configs: [{targets: ['" + target.split("//")[1] + "']}]\n")


def contributed(name, changes):
    """The text of a configuration of contrib/prometheus, with addresses and times of this machine: {what stands there: instead}."""
    with open(os.path.join(CONTRIB, "prometheus", name), encoding="utf-8") as f:
        text = f.read()
    for old, new in changes.items():
        assert old in text, (name, old)
        text = text.replace(old, new)
    return text


class Prometheus(Server):
    """config: the text of its prometheus.yml; more: options."""

    def __init__(self, folder, config, *more):
        port = free_port()
        path = os.path.join(folder, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(config)
        super().__init__(["prometheus", f"--config.file={path}", f"--storage.tsdb.path={folder}/data",
                          f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn", *more], port, folder, "/-/ready")

    def api(self, path, **query):
        r = json.loads(get(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"))
        assert r["status"] == "success", r
        return r["data"]

    def query(self, expr):
        return self.api("query", query=expr)["result"]
