//! What is wrong with classes, claims and slices, in Kubernetes' words.

use kedge_kinds::field::Errors;
use serde_json::{Value, json};

use super::super::tests::{changes_refused_with, complaints, of, refused_with};

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const NO_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const ONE_WAY: &str =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

fn class(spec: Value) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": spec})
}

fn claim(devices: Value) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {"devices": devices}})
}

/// A slice that is good but for this.
fn slice(more: Value) -> Value {
    let mut spec = json!({"driver": "d.example", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "allNodes": true});
    json_patch::merge(&mut spec, &more);
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})
}

fn selects(expression: &str) -> Value {
    json!([{"cel": {"expression": expression}}])
}

#[test]
fn good_ones_are_good() {
    let request = json!({"name": "one", "exactly": {"deviceClassName": "c", "tolerations": [{"operator": "Exists"}],
        "selectors": selects("device.driver == 'd.example' && device.attributes['d.example'].model == 'big'")}});
    let choice = json!({"name": "any", "firstAvailable": [{"name": "a", "deviceClassName": "c"}, {"name": "b", "deviceClassName": "c", "allocationMode": "All"}]});
    let opaque = json!({"driver": "d.example", "parameters": {"kind": "X"}});
    for object in [
        class(json!({})),
        class(
            json!({"selectors": selects("device.capacity['d.example'].memory.compareTo(quantity('1Gi')) >= 0"), "extendedResourceName": "example.com/gpu"}),
        ),
        class(
            json!({"selectors": selects("device.attributes['d.example'].healthy"), "config": [{"opaque": opaque}]}),
        ),
        claim(
            json!({"requests": [request, choice], "constraints": [{"matchAttribute": "d.example/numa"}, {"requests": ["one", "any/a"], "distinctAttribute": "d.example/id"}],
            "config": [{"requests": ["any"], "opaque": opaque}]}),
        ),
        slice(
            json!({"devices": [{"name": "a", "attributes": {"d.example/model": {"string": "x"}, "v": {"version": "1.2.3-rc.1+b"}}, "capacity": {"memory": {"value": "1Gi"}}}]}),
        ),
        slice(
            json!({"allNodes": null, "perDeviceNodeSelection": true, "devices": [{"name": "a", "nodeName": "n"}, {"name": "b", "allNodes": true}]}),
        ),
        slice(
            json!({"allNodes": null, "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}),
        ),
        slice(json!({"sharedCounters": [{"name": "set", "counters": {"memory": {"value": "1"}}}]})),
    ] {
        assert_eq!(complaints(object.clone()), Vec::<String>::new(), "{object}");
    }
}

#[test]
fn classes_say_what_they_mean() {
    refused_with(&[
        (
            "a selector of nothing",
            class(json!({"selectors": [{}]})),
            &["spec.selectors[0].cel: Required value"],
        ),
        (
            "no such variable",
            class(json!({"selectors": selects("noSuchVar")})),
            &[
                "spec.selectors[0].cel.expression: Invalid value: \"noSuchVar\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'noSuchVar' (in container '')\n | noSuchVar\n | ^",
            ],
        ),
        (
            "no truth",
            class(json!({"selectors": selects("1")})),
            &[
                "spec.selectors[0].cel.expression: Invalid value: \"1\": must evaluate to bool or the unknown type, not int",
            ],
        ),
        (
            "too long",
            class(json!({"selectors": selects(&format!("true{}", " ".repeat(10 * 1024)))})),
            &["spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"],
        ),
        (
            "too dear",
            class(json!({"selectors": selects(
                "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a < b && c < d))))"
            )})),
            &["spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"],
        ),
        (
            "too many",
            class(json!({"selectors": vec![selects("true")[0].clone(); 33]})),
            &["spec.selectors: Too many: 33: must have at most 32 items"],
        ),
        (
            "odd configuration",
            class(
                json!({"config": [{}, {"opaque": {"driver": "d"}}, {"opaque": {"driver": "", "parameters": 1}}]}),
            ),
            &[
                "spec.config[0].opaque: Required value",
                "spec.config[1].opaque.parameters: Required value",
                "spec.config[2].opaque.driver: Required value",
                "spec.config[2].opaque.parameters: Invalid value: \"<value omitted>\": must be a valid JSON object",
            ],
        ),
        (
            "a name of Kubernetes' own",
            class(json!({"extendedResourceName": "cpu"})),
            &["spec.extendedResourceName: Invalid value: \"cpu\": must be a valid extended resource name"],
        ),
    ]);
}

#[test]
fn claims_speak_of_their_own_requests() {
    let one = || json!({"name": "one", "exactly": {"deviceClassName": "c"}});
    let requests = |request: Value| claim(json!({"requests": [request]}));
    refused_with(&[
        (
            "twice",
            claim(json!({"requests": [one(), one()]})),
            &["spec.devices.requests[1]: Duplicate value: \"one\""],
        ),
        (
            "neither",
            requests(json!({"name": "n"})),
            &[
                "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
            ],
        ),
        (
            "both",
            requests(
                json!({"name": "n", "exactly": {"deviceClassName": "c"}, "firstAvailable": [{"name": "a", "deviceClassName": "c"}]}),
            ),
            &[
                "spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
            ],
        ),
        (
            "options without names",
            requests(
                json!({"name": "n", "firstAvailable": [{"deviceClassName": "c"}, {"name": "a"}, {"name": "a", "deviceClassName": "c"}]}),
            ),
            &[
                "spec.devices.requests[0].firstAvailable[0].name: Required value",
                "spec.devices.requests[0].firstAvailable[1].deviceClassName: Required value",
                "spec.devices.requests[0].firstAvailable[2]: Duplicate value: \"a\"",
            ],
        ),
        (
            "a selector",
            requests(
                json!({"name": "n", "exactly": {"deviceClassName": "c", "selectors": selects("device.nothing")}}),
            ),
            &[
                "spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: \"device.nothing\": compilation failed: ERROR: <input>:1:7: undefined field 'nothing'\n | device.nothing\n | ......^",
            ],
        ),
        (
            "tolerations",
            requests(
                json!({"name": "n", "exactly": {"deviceClassName": "c", "tolerations": [{"operator": "Exists", "value": "v"}, {"effect": "Never"}]}}),
            ),
            &[
                "spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: \"v\": must be empty for operator `Exists`",
                "spec.devices.requests[0].exactly.tolerations[1].effect: Unsupported value: \"Never\": supported values: \"NoExecute\", \"NoSchedule\", \"None\"",
            ],
        ),
        (
            "constraints",
            claim(
                json!({"requests": [one()], "constraints": [{"requests": ["two", "one/x", "!"], "matchAttribute": "numa"}, {}, {"matchAttribute": "d/a", "distinctAttribute": "d/b"}]}),
            ),
            &[
                &format!("spec.devices.constraints[0].requests[0]: Invalid value: \"two\": {NO_REQUEST}"),
                &format!("spec.devices.constraints[0].requests[1]: Invalid value: \"one/x\": {NO_REQUEST}"),
                &format!("spec.devices.constraints[0].requests[2]: Invalid value: \"!\": {LABEL}"),
                &format!("spec.devices.constraints[0].requests[2]: Invalid value: \"!\": {NO_REQUEST}"),
                "spec.devices.constraints[0].matchAttribute: Invalid value: \"numa\": a fully qualified name must be a domain and a name separated by a slash",
                "spec.devices.constraints[1]: Required value: exactly one of \"matchAttribute\" or \"distinctAttribute\" is required",
                "spec.devices.constraints[2]: Required value: exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set",
            ],
        ),
        (
            "configuration",
            claim(
                json!({"requests": [one()], "config": [{"requests": ["one", "one"], "opaque": {"driver": "d", "parameters": {"a": "x".repeat(10 * 1024)}}}]}),
            ),
            &[
                "spec.devices.config[0].requests[1]: Duplicate value: \"one\"",
                "spec.devices.config[0].opaque.parameters: Too long: may not be more than 10240 bytes",
            ],
        ),
    ]);
    let template = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "t"},
        "spec": {"spec": {"devices": {"constraints": [{}]}}}});
    let expected = "spec.spec.devices.constraints[0]: Required value: exactly one of \"matchAttribute\" or \"distinctAttribute\" is required";
    assert_eq!(complaints(template), [expected]);
}

#[test]
fn slices_are_reached_in_exactly_one_way() {
    let per_device =
        |device: Value| slice(json!({"allNodes": null, "perDeviceNodeSelection": true, "devices": [device]}));
    const ONE_OF_THREE: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    refused_with(&[
        ("no way", slice(json!({"allNodes": null})), &[&format!("spec: Required value: {ONE_WAY}")]),
        (
            "two ways",
            slice(json!({"nodeName": "n"})),
            &[&format!(
                "spec: Invalid value: \"{{`nodeName`, `allNodes`}}\": {ONE_WAY}, but multiple fields are set"
            )],
        ),
        (
            "a way that says nothing",
            slice(json!({"allNodes": false})),
            &[
                "spec.allNodes: Invalid value: false: must be either unset or set to true",
                &format!("spec: Required value: {ONE_WAY}"),
            ],
        ),
        (
            "a choice of several",
            slice(json!({"allNodes": null, "nodeSelector": {"nodeSelectorTerms": []}})),
            &[
                "spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term",
                "spec.nodeSelector.nodeSelectorTerms: Invalid value: []: must have exactly one node selector term",
            ],
        ),
        (
            "a device that says it too",
            slice(json!({"devices": [{"name": "a", "nodeName": "n"}]})),
            &[
                "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
            ],
        ),
        (
            "a device that does not",
            per_device(json!({"name": "a"})),
            &[&format!("spec.devices[0]: Required value: {ONE_OF_THREE}")],
        ),
        (
            "a device in two places",
            per_device(json!({"name": "a", "nodeName": "n", "allNodes": true})),
            &[&format!("spec.devices[0]: Invalid value: \"{{`nodeName`, `allNodes`}}\": {ONE_OF_THREE}")],
        ),
        (
            "no pool",
            slice(json!({"pool": {"name": "", "generation": -1, "resourceSliceCount": 0}})),
            &[
                "spec.pool.name: Required value",
                "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
                "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
            ],
        ),
        (
            "devices and counters",
            slice(json!({"devices": [{"name": "a"}], "sharedCounters": [{"name": "", "counters": {}}]})),
            &[
                "spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed",
                "spec.sharedCounters[0].name: Required value",
                "spec.sharedCounters[0].counters: Required value",
            ],
        ),
    ]);
    changes_refused_with(
        &slice(json!({})),
        &[
            (
                "another driver",
                json!({"spec": {"driver": "e.example"}}),
                &["spec.driver: Invalid value: \"e.example\": field is immutable"],
            ),
            (
                "an older pool",
                json!({"spec": {"pool": {"generation": -1}}}),
                &["spec.pool.generation: Invalid value: -1: must be greater than or equal to zero"],
            ),
        ],
    );
}

#[test]
fn devices_are_described_in_few_words() {
    let device = |more: Value| {
        let mut device = json!({"name": "a"});
        json_patch::merge(&mut device, &more);
        slice(json!({"devices": [device]}))
    };
    let many: serde_json::Map<String, Value> =
        (0..33).map(|i| (format!("a{i}"), json!({"bool": true}))).collect();
    refused_with(&[
        (
            "names",
            device(json!({"attributes": {"no-name": {"int": 1}}, "capacity": {"/x": {"value": "1"}}})),
            &[
                &format!("spec.devices[0].attributes: Invalid value: \"no-name\": {IDENTIFIER}"),
                "spec.devices[0].capacity: Invalid value: \"\": the domain must not be empty",
            ],
        ),
        (
            "no value, two values, no version",
            device(
                json!({"attributes": {"a": {}, "b": {"int": 1, "bool": true}, "c": {"version": "1.2"}, "d": {"string": "x".repeat(65)}}}),
            ),
            &[
                "spec.devices[0].attributes[a]: Invalid value: \"\": exactly one value must be specified",
                "spec.devices[0].attributes[b]: Invalid value: {\"bool\":true,\"int\":1}: exactly one value must be specified",
                "spec.devices[0].attributes[c].version: Invalid value: \"1.2\": must be a string compatible with semver.org spec 2.0.0",
                "spec.devices[0].attributes[d].string: Too long: may not be more than 64 bytes",
            ],
        ),
        (
            "too much",
            device(json!({"attributes": many})),
            &[
                "spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32",
            ],
        ),
        (
            "taints",
            device(json!({"taints": [{"key": "k"}, {"key": "k", "effect": "PreferNoSchedule"}]})),
            &[
                "spec.devices[0].taints[0].effect: Required value",
                "spec.devices[0].taints[1].effect: Unsupported value: \"PreferNoSchedule\": supported values: \"NoExecute\", \"NoSchedule\", \"None\"",
            ],
        ),
        (
            "a policy for one",
            device(json!({"capacity": {"m": {"value": "1", "requestPolicy": {"default": "1"}}}})),
            &["spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
        ),
        (
            "counters",
            device(
                json!({"consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}, {"counterSet": "s"}]}),
            ),
            &[
                "spec.devices[0].consumesCounters[1].counters: Required value",
                "spec.devices[0].consumesCounters[1]: Duplicate value: \"s\"",
            ],
        ),
    ]);
    let tainted = json!({"name": "a", "taints": [{"key": "k", "effect": "None"}]});
    let most: Vec<Value> = (0..65)
        .map(|i| {
            let mut device = tainted.clone();
            device["name"] = format!("d{i}").into();
            device
        })
        .collect();
    assert_eq!(
        complaints(slice(json!({"devices": most}))),
        ["spec.devices: Too many: 65: must have at most 64 items"]
    );
}

#[test]
fn what_was_given_stays_and_is_used_by_few() {
    let old = claim(json!({"requests": [{"name": "one", "exactly": {"deviceClassName": "c"}}]}));
    let given =
        json!({"devices": {"results": [{"request": "one", "driver": "d", "pool": "p", "device": "a"}]}});
    let user = json!({"resource": "pods", "name": "p", "uid": "1"});
    for (case, before, now, expected) in [
        ("given and used", json!({}), json!({"allocation": given, "reservedFor": [user]}), &[][..]),
        ("taken back", json!({"allocation": given}), json!({}), &[]),
        (
            "used before it is given",
            json!({}),
            json!({"reservedFor": [user]}),
            &["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"],
        ),
        (
            "twice, and by nobody",
            json!({}),
            json!({"allocation": given, "reservedFor": [user, user, {}]}),
            &[
                "status.reservedFor[1]: Duplicate value: \"1\"",
                "status.reservedFor[2].resource: Required value",
                "status.reservedFor[2].name: Required value",
                "status.reservedFor[2].uid: Required value",
            ],
        ),
        (
            "for another request",
            json!({}),
            json!({"allocation": {"devices": {"results": [{"request": "two", "driver": "d", "pool": "p", "device": ""}]}}}),
            &[
                &*format!(
                    "status.allocation.devices.results[0].request: Invalid value: \"two\": {NO_REQUEST}"
                ),
                "status.allocation.devices.results[0].device: Required value",
            ],
        ),
        (
            "changed",
            json!({"allocation": given}),
            json!({"allocation": {"devices": {}}}),
            &["status.allocation: Invalid value: {\"devices\":{}}: field is immutable"],
        ),
    ] {
        let with = |status: Value| {
            let mut claim = old.clone();
            claim["status"] = status;
            claim
        };
        let mut errors = Errors::default();
        of(&old).validate_status(&with(now), &with(before), &mut errors);
        let said: Vec<String> = errors
            .into_causes()
            .into_iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        assert_eq!(said, expected, "{case}");
    }
}

#[test]
fn shared_capacities_are_asked_for_as_their_policy_says() {
    let with = |policy: Value| {
        let capacity = json!({"memory": {"value": "10Gi", "requestPolicy": policy}});
        slice(json!({"devices": [
            {"name": "d", "allowMultipleAllocations": true, "capacity": capacity}]}))
    };
    for policy in [
        json!({"default": "1Gi", "validValues": ["1Gi", "2Gi", "10Gi"]}),
        json!({"default": "2Gi", "validRange": {"min": "1Gi", "max": "4Gi", "step": "1Gi"}}),
        json!({"default": "1Gi"}),
        json!({}),
    ] {
        assert_eq!(complaints(with(policy.clone())), Vec::<String>::new(), "{policy}");
    }
    let place = "spec.devices[0].capacity[memory].requestPolicy";
    let told = |what: &[&str]| what.iter().map(|what| format!("{place}{what}")).collect::<Vec<_>>();
    for (policy, wanted) in [
        (
            json!({"default": "1", "validValues": ["1"], "validRange": {"min": "1"}}),
            told(&[
                ": Forbidden: exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time",
            ]),
        ),
        (
            json!({"validValues": ["1Gi"]}),
            told(&[".default: Required value: required when validValues is defined"]),
        ),
        (
            json!({"default": "5Gi", "validValues": ["2Gi", "1Gi", "1Gi", "11Gi"]}),
            told(&[
                ".validValues[1]: Invalid value: \"1Gi\": values must be sorted in ascending order",
                ".validValues[2]: Duplicate value: \"1Gi\"",
                ".validValues[3]: Invalid value: \"11Gi\": option is larger than capacity value: 10Gi",
                ".validValues: Invalid value: \"5Gi\": default value is not valid according to the requestPolicy",
            ]),
        ),
        (
            json!({"default": "1Gi", "validRange": {}}),
            told(&[".validRange.min: Required value: required when validRange is defined"]),
        ),
        (
            json!({"default": "1Gi", "validRange": {"min": "2Gi", "max": "11Gi", "step": "9Gi"}}),
            told(&[
                ".validRange.min: Invalid value: \"1Gi\": default is less than min: 2Gi",
                ".validRange.max: Invalid value: \"11Gi\": max is larger than capacity value: 10Gi",
                ".validRange.step: Invalid value: \"9Gi\": one step 11Gi is larger than capacity value: 10Gi",
                ".validRange.step: Invalid value: \"1Gi\": value is not a multiple of a given step (9Gi) from (2Gi)",
            ]),
        ),
    ] {
        assert_eq!(complaints(with(policy.clone())), wanted, "{policy}");
    }
}

#[test]
fn conditions_for_binding_come_in_pairs() {
    let with = |conditions: Value| {
        let mut device = json!({"name": "d"});
        device.as_object_mut().unwrap().extend(conditions.as_object().unwrap().clone());
        slice(json!({"devices": [device]}))
    };
    let good = json!({"bindingConditions": ["example.com/ready"], "bindingFailureConditions": ["failed"]});
    assert_eq!(complaints(with(good)), Vec::<String>::new());
    refused_with(&[
        (
            "nothing to fail by",
            with(json!({"bindingConditions": ["a"]})),
            &[
                "spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions",
            ],
        ),
        (
            "twice, and on both sides",
            with(json!({"bindingConditions": ["a", "a"], "bindingFailureConditions": ["a"]})),
            &[
                "spec.devices[0].bindingConditions[1]: Duplicate value: \"a\"",
                "spec.devices[0].bindingFailureConditions[0]: Invalid value: \"a\": bindingFailureConditions must not overlap with bindingConditions",
            ],
        ),
        (
            "too many",
            with(json!({"bindingConditions": ["a", "b", "c", "d", "e"], "bindingFailureConditions": ["f"]})),
            &["spec.devices[0].bindingConditions: Too many: 5: must have at most 4 items"],
        ),
    ]);
}
