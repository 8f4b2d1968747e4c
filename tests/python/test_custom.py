"""A controller in Python, as its users write them: a definition, a watch, and what has to be is made so."""

import threading
import time
import unittest

from kubernetes import client, watch
from kubernetes.client.rest import ApiException

from test_client import Server

GROUP, VERSION, PLURAL = "python-test.example", "v1", "greetings"

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "greeting", "kind": "Greeting"},
        "versions": [{
            "name": VERSION, "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "required": ["name"], "properties": {
                    "name": {"type": "string", "maxLength": 20},
                    "greeting": {"type": "string", "default": "Hello"}}},
                "status": {"type": "object", "properties": {"said": {"type": "string"}}}}}},
        }],
    },
}


class Controller(threading.Thread):
    """Keeps a ConfigMap for every Greeting, and says in its status what it wrote."""

    def __init__(self):
        super().__init__(daemon=True)
        self.custom, self.core = client.CustomObjectsApi(), client.CoreV1Api()
        self.events = watch.Watch()
        self.failed = None

    def run(self):
        try:
            stream = self.events.stream(
                self.custom.list_namespaced_custom_object, GROUP, VERSION, "default", PLURAL, timeout_seconds=60)
            for event in stream:
                if event["type"] in ("ADDED", "MODIFIED"):
                    self.turn(event["object"])
        except Exception as error:  # told by the test
            self.failed = error

    def turn(self, greeting):
        name, spec = greeting["metadata"]["name"], greeting["spec"]
        said = f"{spec['greeting']}, {spec['name']}!"
        if greeting.get("status", {}).get("said") == said:
            return
        body = {
            "metadata": {"name": name, "ownerReferences": [{
                "apiVersion": greeting["apiVersion"], "kind": greeting["kind"], "name": name,
                "uid": greeting["metadata"]["uid"], "controller": True}]},
            "data": {"said": said},
        }
        try:
            self.core.create_namespaced_config_map("default", body)
        except ApiException as error:
            if error.status != 409:
                raise
            self.core.patch_namespaced_config_map(name, "default", {"data": {"said": said}})
        self.custom.patch_namespaced_custom_object_status(
            GROUP, VERSION, "default", PLURAL, name, {"status": {"said": said}})


class CustomObjects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.custom = client.CustomObjectsApi()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def until(self, what, holds):
        deadline = time.monotonic() + 20
        while not holds():
            self.assertLess(time.monotonic(), deadline, f"still not so: {what}")
            time.sleep(0.02)

    def test_a_controller_runs_on_a_kind_of_its_own(self):
        definitions = client.ApiextensionsV1Api()
        definitions.create_custom_resource_definition(DEFINITION)

        def established():
            status = definitions.read_custom_resource_definition(f"{PLURAL}.{GROUP}").status
            return any(c.type == "Established" and c.status == "True" for c in status.conditions or [])

        self.until("the definition is established", established)
        controller = Controller()
        controller.start()
        at = (GROUP, VERSION, "default", PLURAL)
        greeting = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Greeting", "metadata": {"name": "g"}, "spec": {"name": "Ann"}}
        made = self.custom.create_namespaced_custom_object(*at, greeting)
        self.assertEqual("Hello", made["spec"]["greeting"])

        def said(text):
            self.assertIsNone(controller.failed)
            return self.custom.get_namespaced_custom_object(*at, "g").get("status", {}).get("said") == text

        self.until("it was greeted", lambda: said("Hello, Ann!"))
        self.custom.patch_namespaced_custom_object(*at, "g", {"spec": {"greeting": "Good morning"}})
        self.until("it was greeted anew", lambda: said("Good morning, Ann!"))
        found = self.custom.get_namespaced_custom_object(*at, "g")
        self.assertEqual(2, found["metadata"]["generation"], "a status starts no generation")
        data = client.CoreV1Api().read_namespaced_config_map("g", "default").data
        self.assertEqual({"said": "Good morning, Ann!"}, data)
        listed = self.custom.list_namespaced_custom_object(*at)
        self.assertEqual(["Greeting"], [item["kind"] for item in listed["items"]])
        with self.assertRaises(ApiException) as refused:
            self.custom.patch_namespaced_custom_object(*at, "g", {"spec": {"name": "a" * 21}})
        self.assertEqual(422, refused.exception.status)
        controller.events.stop()
        definitions.delete_custom_resource_definition(f"{PLURAL}.{GROUP}")

        def gone():
            try:
                self.custom.list_namespaced_custom_object(*at)
                return False
            except ApiException as error:
                return error.status == 404

        self.until("the kind is gone", gone)


if __name__ == "__main__":
    unittest.main()
