"""The Python client does CRUD, watch and server-side apply against a server of its own."""

import json
import os
import subprocess
import tempfile
import threading
import time
import unittest

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic import DynamicClient

KEDGE = os.environ.get("KEDGE_BIN", "target/debug/kedge")


class Server:
    """A server on a folder and a port of its own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.kubeconfig = os.path.join(self.folder.name, "kubeconfig")
        self.process = subprocess.Popen(
            [KEDGE, "server", "--no-agent", "--listen", "127.0.0.1:0", "--data-dir", self.folder.name,
             "--write-kubeconfig", self.kubeconfig],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while (untrue := self.not_ready()) is not None:
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.stop()
                raise RuntimeError(f"the server did not get ready: {untrue}")
            time.sleep(0.05)

    def not_ready(self):
        """What is still untrue, None when the server answers."""
        try:
            config.load_kube_config(self.kubeconfig)
            client.VersionApi().get_code()
            return None
        except Exception as error:  # not there yet, whatever the reason
            return error

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.folder.cleanup()


class PythonClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.core = client.CoreV1Api()
        cls.apps = client.AppsV1Api()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_crud(self):
        made = self.core.create_namespaced_config_map("default", {"metadata": {"name": "crud"}, "data": {"a": "1"}})
        self.assertTrue(made.metadata.uid)
        made.data["b"] = "2"
        replaced = self.core.replace_namespaced_config_map("crud", "default", made)
        self.assertEqual({"a": "1", "b": "2"}, replaced.data)
        patched = self.core.patch_namespaced_config_map("crud", "default", {"data": {"a": None, "c": "3"}})
        self.assertEqual({"b": "2", "c": "3"}, patched.data)
        names = [item.metadata.name for item in self.core.list_namespaced_config_map("default").items]
        self.assertIn("crud", names)
        self.core.delete_namespaced_config_map("crud", "default")
        with self.assertRaises(ApiException) as missing:
            self.core.read_namespaced_config_map("crud", "default")
        self.assertEqual(404, missing.exception.status)
        self.assertEqual("NotFound", json.loads(missing.exception.body)["reason"])

    def test_a_stale_replace_is_a_conflict(self):
        made = self.core.create_namespaced_config_map("default", {"metadata": {"name": "stale"}})
        self.core.patch_namespaced_config_map("stale", "default", {"data": {"a": "1"}})
        made.data = {"a": "2"}
        with self.assertRaises(ApiException) as conflict:
            self.core.replace_namespaced_config_map("stale", "default", made)
        self.assertEqual(409, conflict.exception.status)

    def test_watch(self):
        start = self.core.list_namespaced_secret("default").metadata.resource_version
        seen = []

        def follow():
            for event in watch.Watch().stream(self.core.list_namespaced_secret, "default", resource_version=start,
                                              timeout_seconds=20):
                seen.append((event["type"], event["object"].metadata.name))
                if event["type"] == "DELETED":
                    return

        follower = threading.Thread(target=follow)
        follower.start()
        self.core.create_namespaced_secret("default", {"metadata": {"name": "seen"}, "stringData": {"k": "v"}})
        self.core.patch_namespaced_secret("seen", "default", {"metadata": {"labels": {"x": "y"}}})
        self.core.delete_namespaced_secret("seen", "default")
        follower.join(20)
        self.assertEqual([("ADDED", "seen"), ("MODIFIED", "seen"), ("DELETED", "seen")], seen)

    def test_server_side_apply(self):
        resource = DynamicClient(client.ApiClient()).resources.get(api_version="apps/v1", kind="Deployment")
        body = {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "applied"},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "applied"}},
                "template": {"metadata": {"labels": {"app": "applied"}},
                             "spec": {"containers": [{"name": "web", "image": "nginx"}]}},
            },
        }
        resource.server_side_apply(body=body, namespace="default", field_manager="one")
        body["spec"]["replicas"] = 3
        with self.assertRaises(ApiException) as conflict:
            resource.server_side_apply(body=body, namespace="default", field_manager="two")
        self.assertEqual(409, conflict.exception.status)
        self.assertIn(".spec.replicas", str(conflict.exception.body))
        forced = resource.server_side_apply(body=body, namespace="default", field_manager="two", force_conflicts=True)
        self.assertEqual(3, forced.spec.replicas)
        managers = {entry.manager for entry in forced.metadata.managedFields}
        self.assertLessEqual({"one", "two"}, managers, "controllers own fields, too")

    def test_pagination_is_whole(self):
        for number in range(25):
            self.core.create_namespaced_config_map("kube-public", {"metadata": {"name": f"page-{number:02}"}})
        names, token = [], None
        while True:
            page = self.core.list_namespaced_config_map("kube-public", limit=10, _continue=token)
            names += [item.metadata.name for item in page.items if item.metadata.name.startswith("page-")]
            token = page.metadata._continue
            if not token:
                break
        self.assertEqual([f"page-{number:02}" for number in range(25)], names)


if __name__ == "__main__":
    unittest.main()
