use serde_json::{Value as Json, json};

use crate::{Budget, Decl, Env, EvalError, Issue, PER_CALL_LIMIT, Type, Value};

/// The value as JSON, the error's text after `!`, or the first issue after `?`.
fn outcome(env: &Env, source: &str, variables: Vec<(&str, Value<'_>)>) -> String {
    let program = match env.compile(source) {
        Ok(program) => program,
        Err(issues) => return format!("?{}", issues[0].message),
    };
    let mut budget = Budget::new(PER_CALL_LIMIT);
    match program.eval(&variables, &mut budget) {
        Ok(value) => value.to_json().map_or_else(|_| value.type_name().to_owned(), |json| json.to_string()),
        Err(error) => format!("!{error}"),
    }
}

fn object() -> Json {
    json!({
        "metadata": {"name": "web", "labels": {"app": "x", "tier": "front"}},
        "spec": {"replicas": 3, "ratio": 1.5, "items": ["a", "b", "c"], "nothing": null,
                 "containers": [{"name": "c1", "image": "i:1", "ports": [80, 443]}, {"name": "c2", "image": "i:2"}]},
        "n": [1, 2, 3],
    })
}

fn check(cases: &[(&str, &str)]) {
    let env = Env::new().variable("object", Type::Dyn).variable("x", Type::Int);
    let object = object();
    for (source, expected) in cases {
        let found = outcome(&env, source, vec![("object", Value::json(&object)), ("x", Value::Int(5))]);
        assert_eq!(found, *expected, "{source}");
    }
}

#[test]
fn arithmetic_and_comparison() {
    check(&[
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("-x", "-5"),
        ("--x", "5"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("7 % -4", "3"),
        ("-7 % 4", "-3"),
        ("7.0 / 2.0", "3.5"),
        ("1 / 0", "!division by zero"),
        ("1 % 0", "!modulus by zero"),
        ("9223372036854775807 + 1", "!integer overflow"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-(-9223372036854775808)", "!integer overflow"),
        ("0u - 1u", "!unsigned integer overflow"),
        ("0xff", "255"),
        ("1 < 2.5", "true"),
        ("2u > 1", "true"),
        ("9007199254740993 > 9007199254740992.0", "false"),
        ("dyn(1) == 1.0", "true"),
        ("dyn(1) == '1'", "false"),
        ("1.0 / 0.0 > 1.0", "true"),
        ("'a' + 'b'", "\"ab\""),
        ("b'a' + b'b' == b'ab'", "true"),
        ("[1] + [2]", "[1,2]"),
        ("'a' < 'b' && b'a' < b'b'", "true"),
        ("x == 5 ? 'yes' : 'no'", "\"yes\""),
        ("{'a': 1} == {'a': 1}", "true"),
        ("[1, 2] == [1, 2]", "true"),
        ("null == null", "true"),
        ("type(1) == int && type('') == string", "true"),
        ("type(object) == map", "true"),
        ("size('héllo')", "5"),
        ("size([1, 2])", "2"),
        ("'abc'.size()", "3"),
        ("2 in [1, 2]", "true"),
        ("'a' in {'a': 1}", "true"),
    ]);
}

#[test]
fn errors_give_way_to_what_settles_the_matter() {
    check(&[
        ("false && 1 / 0 == 0", "false"),
        ("1 / 0 == 0 && false", "false"),
        ("1 / 0 == 0 || true", "true"),
        ("1 / 0 == 0 && true", "!division by zero"),
        ("true ? 1 : 1 / 0", "1"),
        ("[1, 0].exists(i, 1 / i == 1)", "true"),
        ("[0, 1].exists(i, 1 / i == 1)", "true"),
        ("[0, 2].exists(i, 1 / i == 1)", "!division by zero"),
        ("[0, 2].all(i, 1 / i == 1)", "false"),
        ("object.missing && false", "false"),
        ("object.n || true", "true"),
        ("object.n || false", "!no such overload"),
    ]);
}

#[test]
fn objects_are_read_where_they_lie() {
    check(&[
        ("object.metadata.name", "\"web\""),
        ("object.spec.replicas + 1", "4"),
        ("object.spec.ratio * 2.0", "3.0"),
        ("object['metadata']['name']", "\"web\""),
        ("object.spec.items[1]", "\"b\""),
        ("object.spec.items[3]", "!index out of bounds: 3"),
        ("object.spec.nope", "!no such key: nope"),
        ("has(object.spec.nope)", "false"),
        ("has(object.spec.items) && !has(object.spec.nope)", "true"),
        ("has(object.nope.deeper)", "!no such key: nope"),
        ("has(object.spec.nothing)", "true"),
        ("object.spec.nothing == null", "true"),
        ("object.metadata.labels.app", "\"x\""),
        ("object.metadata.labels['tier']", "\"front\""),
        ("object.metadata.labels.all(k, k.size() > 2)", "true"),
        ("'app' in object.metadata.labels", "true"),
        ("object.spec.containers.all(c, c.image.startsWith('i:'))", "true"),
        ("object.spec.containers.map(c, c.name)", "[\"c1\",\"c2\"]"),
        ("object.spec.containers.filter(c, has(c.ports)).map(c, c.ports[0])", "[80]"),
        ("object.spec.containers.exists_one(c, c.name == 'c1')", "true"),
        ("object.n.map(i, i > 1, i * i)", "[4,9]"),
        ("object.metadata.name.size", "!no such key: size"),
        ("object.spec.replicas + 'a'", "!no such overload"),
    ]);
}

#[test]
fn optional_values() {
    check(&[
        ("object.?spec.?nope.orValue(7)", "7"),
        ("object.?spec.?replicas.orValue(7)", "3"),
        ("object.?nope.deeper.still.orValue('d')", "\"d\""),
        ("object.spec.items[?5].hasValue()", "false"),
        ("object.spec.items[?0].value()", "\"a\""),
        ("object.?nope.value()", "!optional.none() dereference"),
        ("object.?spec.?replicas.optMap(r, r * 2).orValue(0)", "6"),
        ("object.?spec.?nope.optMap(r, r * 2).orValue(0)", "0"),
        ("object.?spec.optFlatMap(s, s.?ratio).orValue(0.0)", "1.5"),
        ("optional.of(1).or(optional.of(2)).value()", "1"),
        ("optional.none().or(optional.of(2)).value()", "2"),
        ("optional.ofNonZeroValue('').hasValue()", "false"),
        ("[?object.?nope, dyn(1)]", "[1]"),
        ("{?'a': object.?nope, 'b': dyn(1)}", "{\"b\":1}"),
        ("[1, 2].first().value()", "1"),
        ("[optional.of(1), optional.none()].unwrapOpt()", "[1]"),
        ("has(object.?spec.replicas)", "true"),
        ("has(object.?nope.replicas)", "false"),
    ]);
}

#[test]
fn strings() {
    check(&[
        ("'hello'.charAt(1)", "\"e\""),
        ("'hello'.charAt(5)", "\"\""),
        ("'hello'.charAt(6)", "!index out of range: 6"),
        ("'hello mellow'.indexOf('ello')", "1"),
        ("'hello mellow'.indexOf('ello', 2)", "7"),
        ("'hello mellow'.indexOf('x')", "-1"),
        ("'hello mellow'.indexOf('')", "0"),
        ("'hello mellow'.lastIndexOf('ello')", "7"),
        ("'hello mellow'.lastIndexOf('ello', 6)", "1"),
        ("['a', 'b'].join('-')", "\"a-b\""),
        ("'a,b,c'.split(',')", "[\"a\",\"b\",\"c\"]"),
        ("'a,b,c'.split(',', 2)", "[\"a\",\"b,c\"]"),
        ("'abc'.split('')", "[\"a\",\"b\",\"c\"]"),
        ("'tacocat'.substring(4)", "\"cat\""),
        ("'tacocat'.substring(0, 4)", "\"taco\""),
        ("'ta©o'.substring(2, 4)", "\"©o\""),
        ("'abc'.substring(2, 1)", "!invalid substring range. start: 2, end: 1"),
        ("'  x '.trim()", "\"x\""),
        ("'TacoCÆt'.lowerAscii()", "\"tacocÆt\""),
        ("'hello hello'.replace('he', 'we')", "\"wello wello\""),
        ("'hello hello'.replace('he', 'we', 1)", "\"wello hello\""),
        ("'%s is %d and %.2f'.format([dyn('a'), 1, 1.5])", "\"a is 1 and 1.50\""),
        ("'%s'.format([[dyn(1), 'a', true]])", "\"[1, \\\"a\\\", true]\""),
        ("'%x %b %o'.format([255, 5, 8])", "\"ff 101 10\""),
        ("strings.quote('a\"b')", "\"\\\"a\\\\\\\"b\\\"\""),
        ("r'a\\n'", "\"a\\\\n\""),
        ("'''a'b'''", "\"a'b\""),
        ("'\\x41\\u00e9\\101'", "\"AéA\""),
        ("'abc'.matches('^a.c$')", "true"),
        ("matches('abc', 'b')", "true"),
        ("'abc 123'.find('[0-9]+')", "\"123\""),
        ("'1 2 3'.findAll('[0-9]')", "[\"1\",\"2\",\"3\"]"),
        ("'1 2 3'.findAll('[0-9]', 1)", "[\"1\"]"),
    ]);
}

#[test]
fn lists_sets_and_maps() {
    check(&[
        ("[1, 2, 3].sum()", "6"),
        ("[3, 1, 2].max()", "3"),
        ("[].map(i, i).size()", "0"),
        ("object.n.min()", "1"),
        ("['b', 'a'].isSorted()", "false"),
        ("[1, 2, 1].indexOf(1)", "0"),
        ("[1, 2, 1].lastIndexOf(1)", "2"),
        ("[1, 2, 3, 4].slice(1, 3)", "[2,3]"),
        ("[1].slice(0, 2)", "!cannot slice(0, 2), list is length 1"),
        ("[[1], [2, 3]].flatten()", "[1,2,3]"),
        ("[3, 1, 2].sort()", "[1,2,3]"),
        ("['aaa', 'b'].sortBy(s, size(s))", "[\"b\",\"aaa\"]"),
        ("lists.range(3)", "[0,1,2]"),
        ("[1, 2].reverse()", "[2,1]"),
        ("[1, 1, 2].distinct()", "[1,2]"),
        ("sets.contains([1, 2], [2])", "true"),
        ("sets.equivalent([1, 2], [2, 1, 1])", "true"),
        ("sets.intersects([1], [2])", "false"),
        ("[1, 2].all(i, v, v == i + 1)", "true"),
        ("{'a': 1}.exists(k, v, v == 1 && k == 'a')", "true"),
        ("['a', 'b'].transformList(i, v, string(i) + v)", "[\"0a\",\"1b\"]"),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 10)", "{\"b\":20}"),
        ("{'a': 1}.transformMapEntry(k, v, {string(v): k})", "{\"1\":\"a\"}"),
        ("[1, 2].existsOne(i, v, v == 2)", "true"),
        ("lists.range(2000000).size()", "!operation cancelled: actual cost limit exceeded"),
    ]);
}

#[test]
fn conversions_and_time() {
    check(&[
        ("int('42')", "42"),
        ("int('x')", "?program instantiation failed: type conversion error from 'string' to 'int'"),
        ("int(3.9)", "3"),
        ("uint(3)", "3"),
        ("double('1.5')", "1.5"),
        ("string(1.5)", "\"1.5\""),
        ("string(1e100)", "\"1e+100\""),
        ("string(true)", "\"true\""),
        ("bool('true')", "true"),
        ("bytes('a')", "\"YQ==\""),
        (
            "string(b'\\xff')",
            "?program instantiation failed: invalid UTF-8 in bytes, cannot convert to string",
        ),
        ("duration('1h30m') == duration('90m')", "true"),
        ("duration('1.5s').getMilliseconds()", "1500"),
        ("string(duration('90m'))", "\"5400s\""),
        ("timestamp('2024-01-02T03:04:05Z').getFullYear()", "2024"),
        ("timestamp('2024-01-02T03:04:05Z').getMonth()", "0"),
        ("timestamp('2024-01-02T03:04:05Z').getDayOfWeek()", "2"),
        ("timestamp('2024-01-02T03:04:05Z').getHours('+02:00')", "5"),
        ("timestamp('2024-01-02T03:04:05Z') + duration('1h') > timestamp('2024-01-02T04:04:04Z')", "true"),
        ("string(timestamp('2024-01-02T03:04:05.5Z') - duration('1s'))", "\"2024-01-02T03:04:04.5Z\""),
        ("timestamp('2024-01-02T03:04:05Z') - timestamp('2024-01-02T03:04:00Z') == duration('5s')", "true"),
        ("timestamp('9999-12-30T00:00:00Z') + duration('72h')", "!timestamp overflow"),
        ("int(timestamp('1970-01-01T00:01:00Z'))", "60"),
    ]);
}

#[test]
fn zones_by_name_have_summers() {
    check(&[
        ("timestamp('2024-01-02T03:04:05Z').getHours('Europe/Berlin')", "4"),
        ("timestamp('2024-07-02T03:04:05Z').getHours('Europe/Berlin')", "5"),
        ("timestamp('2024-01-02T03:04:05Z').getHours('America/New_York')", "22"),
        ("timestamp('2024-01-02T03:04:05Z').getDayOfWeek('America/New_York')", "1"),
        ("timestamp('2024-01-01T03:04:05Z').getFullYear('US/Central')", "2023"),
        ("timestamp('2024-01-02T03:04:05Z').getMinutes('Asia/Kathmandu')", "49"),
        ("timestamp('2024-01-02T03:04:05Z').getHours('Etc/GMT+5')", "22"),
        ("timestamp('2024-01-02T03:04:05Z').getHours('UTC')", "3"),
        ("timestamp('2024-01-02T03:04:05Z').getHours('Local')", "3"),
        ("timestamp('0001-01-01T00:00:00Z').getFullYear('Asia/Tokyo')", "1"),
        ("timestamp('2024-01-02T03:04:05Z').getHours('europe/berlin')", "!unknown time zone europe/berlin"),
        ("timestamp('2024-01-02T03:04:05Z').getHours('Mars/Olympus')", "!unknown time zone Mars/Olympus"),
        ("timestamp('2024-01-02T03:04:05Z').getHours('../etc/passwd')", "!unknown time zone ../etc/passwd"),
    ]);
}

#[test]
fn libraries_of_kubernetes() {
    check(&[
        ("quantity('1Gi').isGreaterThan(quantity('1G'))", "true"),
        ("quantity('500m').add(quantity('1500m')) == quantity('2')", "true"),
        ("quantity('1k').asInteger()", "1000"),
        ("quantity('50m').isInteger()", "false"),
        ("quantity('50m').asApproximateFloat()", "0.05"),
        ("quantity('1').sub(2).compareTo(quantity('0'))", "-1"),
        ("sign(quantity('-1'))", "-1"),
        ("isQuantity('1Gx')", "false"),
        ("url('https://a.b:8080/p/q?x=1&x=2#f').getHost()", "\"a.b:8080\""),
        ("url('https://[::1]:80/').getHostname()", "\"::1\""),
        ("url('https://a.b:8080/p').getPort()", "\"8080\""),
        ("url('https://a.b/p q').getEscapedPath()", "\"/p%20q\""),
        ("url('https://a.b/?x=1&x=2').getQuery()", "{\"x\":[\"1\",\"2\"]}"),
        ("isURL('https://a.b') && isURL('/a') && !isURL('a')", "true"),
        ("ip('10.0.0.1').family()", "4"),
        ("ip('::1').isLoopback()", "true"),
        ("isIP('::ffff:1.2.3.4')", "false"),
        ("ip.isCanonical('2001:DB8::1')", "false"),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"),
        ("cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))", "true"),
        ("cidr('10.1.0.0/8').masked().ip() == ip('10.0.0.0')", "true"),
        ("string(cidr('10.0.0.0/8'))", "\"10.0.0.0/8\""),
        ("cidr('10.0.0.0/8').prefixLength()", "8"),
        ("format.dns1123Label().validate('a-b').hasValue()", "false"),
        ("format.dns1123Label().validate('A').hasValue()", "true"),
        ("format.named('uuid').value().validate('x').value()", "[\"does not match the UUID format\"]"),
        ("format.named('nope').hasValue()", "false"),
        ("semver('1.2.3').isLessThan(semver('1.10.0'))", "true"),
        ("semver('v1.2', true).patch()", "0"),
        ("isSemver('1.2')", "false"),
        ("semver('1.0.0-rc.1').compareTo(semver('1.0.0'))", "-1"),
    ]);
}

#[test]
fn an_evaluation_stops_when_its_budget_is_spent() {
    let env = Env::new().variable("l", Type::list(Type::Int));
    let program = env.compile("l.all(a, l.all(b, l.all(c, a + b + c >= 0)))").unwrap();
    let list = json!((0..200).collect::<Vec<_>>());
    let mut budget = Budget::new(PER_CALL_LIMIT);
    let result = program.eval(&[("l", Value::json(&list))], &mut budget);
    assert_eq!(result.unwrap_err(), EvalError::CostExceeded);
}

#[test]
fn declared_values_are_read_as_their_schema_says() {
    let schema = json!({"type": "object", "properties": {
        "when": {"type": "string", "format": "date-time"},
        "long": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte"},
        "number": {"type": "number"},
        "port": {"x-kubernetes-int-or-string": true},
        "foo-bar": {"type": "integer"},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let decl = Decl::from_schema(&schema, true, "self").unwrap();
    let env = Env::new().variable("self", decl.clone());
    let object = json!({"when": "2024-01-01T00:00:00Z", "long": "1h", "data": "YQ==", "number": 1, "port": "80%",
        "foo-bar": 4, "set": ["a", "b"], "map": [{"k": "a", "v": 1}], "labels": {"x": "y"}, "metadata": {"name": "n"}});
    for (source, expected) in [
        ("self.when.getFullYear()", "2024"),
        ("self.long == duration('60m')", "true"),
        ("self.data == b'a'", "true"),
        ("self.number / 2.0", "0.5"),
        ("type(self.port) == string", "true"),
        ("self.foo__dash__bar", "4"),
        ("self.set == ['b', 'a']", "true"),
        ("self.map + self.map", "[{\"k\":\"a\",\"v\":1}]"),
        ("self.set + ['b', 'c']", "[\"a\",\"b\",\"c\"]"),
        ("self.labels.x", "\"y\""),
        ("self.labels.exists(k, k == 'x')", "true"),
        ("self.metadata.name", "\"n\""),
        ("self.metadata.labels", "?undefined field 'labels'"),
        ("self.nope", "?undefined field 'nope'"),
        ("has(self.kind)", "false"),
    ] {
        let value = Value::declared(&object, &decl).unwrap();
        assert_eq!(outcome(&env, source, vec![("self", value)]), expected, "{source}");
    }
}

#[test]
fn patches_are_built() {
    let env = Env::new().variable("object", Type::Dyn).with_patches();
    let object = object();
    for (source, expected) in [
        (
            "[JSONPatch{op: 'add', path: '/x', value: object.spec.replicas}]",
            "[{\"op\":\"add\",\"path\":\"/x\",\"value\":3}]",
        ),
        ("Object{spec: Object.spec{replicas: 4}}", "{\"spec\":{\"replicas\":4}}"),
        ("Object{spec: Object.spec{?replicas: object.?nope}}", "{\"spec\":{}}"),
        ("JSONPatch{op: 1}", "?expected type of field 'op' is 'string' but provided type is 'int'"),
        ("JSONPatch{nope: 1}", "?undefined field 'nope'"),
        ("jsonpatch.escapeKey('a/b~c')", "\"a~1b~0c\""),
        ("Nope{}", "?undeclared reference to 'Nope' (in container '')"),
    ] {
        assert_eq!(outcome(&env, source, vec![("object", Value::json(&object))]), expected, "{source}");
    }
    assert!(Env::new().compile("Object{}").map_err(|issues| Issue::join(&issues)).is_err());
}

#[test]
fn objects_in_patches_are_named_after_their_place() {
    let env = Env::new().with_patches();
    for (source, expected) in [
        ("Object{spec: Object.spec{a: [Object.spec.a{}]}}", Ok(())),
        (
            "Object{spec: Object.meta{}}",
            Err(
                "unexpected type name \"Object.meta\", expected \"Object.spec\", which matches field name path from root Object type",
            ),
        ),
    ] {
        let program = env.compile(source).unwrap();
        let value = program.eval(&[], &mut Budget::new(PER_CALL_LIMIT)).unwrap();
        assert_eq!(
            value.check_object_names().map_err(|error| error.to_string()),
            expected.map_err(str::to_owned),
            "{source}"
        );
    }
}

/// Answers from a list of what is allowed, and remembers what it was asked.
struct Recorded(std::sync::Mutex<Vec<crate::Check>>);

impl crate::Authorizer for Recorded {
    fn check(&self, check: &crate::Check) -> crate::Decision {
        self.0.lock().unwrap().push(check.clone());
        crate::Decision { allowed: &*check.verb == "get", reason: "because".into(), error: None }
    }
}

#[test]
fn the_authorizer_is_asked_what_was_built_up() {
    let env = Env::new().with_authorizer();
    let asked = std::sync::Arc::new(Recorded(std::sync::Mutex::default()));
    for (source, expected, question) in [
        ("authorizer.path('/healthz').check('get').allowed()", "true", "Path(\"/healthz\")"),
        (
            "authorizer.group('apps').resource('deployments').namespace('n').name('d').check('list').allowed()",
            "false",
            "deployments",
        ),
        (
            "authorizer.serviceAccount('ns', 'sa').group('').resource('pods').check('get').reason()",
            "\"because\"",
            "\"sa\"",
        ),
        ("authorizer.requestResource.check('get').errored()", "false", "widgets"),
        (
            "authorizer.serviceAccount('N', 'sa').path('/').check('get').allowed()",
            "!Invalid service account namespace",
            "",
        ),
    ] {
        let resource = crate::Resource { resource: "widgets".into(), ..Default::default() };
        let variables = vec![
            ("authorizer", Value::authorizer(asked.clone())),
            ("authorizer.requestResource", Value::request_resource(asked.clone(), resource)),
        ];
        let found = outcome(&env, source, variables);
        assert!(found.starts_with(expected), "{source}: {found}");
        let last = asked.0.lock().unwrap().pop().map(|check| format!("{check:?}")).unwrap_or_default();
        assert!(last.contains(question), "{source}: {last}");
    }
}

/// Makes the fields of `variables` when they are asked for.
struct Lazy;

impl<'a> crate::Activation<'a> for Lazy {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        (name == "variables").then(|| Ok(Value::lazy("variables")))
    }
    fn field(&self, _variable: &str, field: &str) -> Option<Result<Value<'a>, EvalError>> {
        match field {
            "a" => Some(Ok(Value::Int(1))),
            "bad" => Some(Err(EvalError::DivideByZero)),
            _ => None,
        }
    }
}

#[test]
fn fields_of_lazy_variables_are_made_on_demand() {
    let env = Env::new().variable("variables", Type::Dyn);
    for (source, expected) in [
        ("variables.a + 1", Ok(2)),
        ("variables['a'] + 1", Ok(2)),
        ("has(variables.a) ? 1 : 0", Ok(1)),
        ("has(variables.b) ? 1 : 0", Ok(0)),
        ("variables.bad", Err(EvalError::DivideByZero)),
        ("variables.c", Err(EvalError::NoSuchKey("c".into()))),
    ] {
        let program = env.compile(source).unwrap();
        let found = program.eval(&Lazy, &mut Budget::new(PER_CALL_LIMIT));
        assert_eq!(found.map(|value| value.to_json().unwrap().as_i64().unwrap()), expected, "{source}");
    }
}

#[test]
fn no_text_grows_out_of_proportion() {
    let env = Env::new().variable("long", Type::String);
    let long = "x".repeat(90_000);
    for source in [
        "long.replace('x', long).size() > 0",
        "long.replace('', long).size() > 0",
        "long.split('').join(long).size() > 0",
        "(long.replace('x', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') + long.replace('x', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy')).size() > 0",
        "long.replace('x', long).size() > 0 || true",
    ] {
        let found = outcome(&env, source, vec![("long", Value::text(&long))]);
        assert_eq!(found, "!operation cancelled: actual cost limit exceeded", "{source}");
    }
    let found = outcome(&env, "long.replace('x', 'yy', 3).size()", vec![("long", Value::text(&long))]);
    assert_eq!(found, "90003");
}

#[test]
fn a_pattern_is_no_larger_than_it_looks() {
    let env = Env::new().variable("long", Type::String).variable("pattern", Type::String);
    let long = "x".repeat(90_000);
    for (pattern, expected) in [
        ("(x+x+)+y", "false"),
        ("^x{1,9}", "true"),
        ("(x{1,999})*z", "!operation cancelled: actual cost limit exceeded"),
        ("(x{999,}){1,999}z", "!operation cancelled: actual cost limit exceeded"),
    ] {
        let variables = vec![("long", Value::text(&long)), ("pattern", Value::text(pattern))];
        assert_eq!(outcome(&env, "long.matches(pattern)", variables), expected, "{pattern}");
    }
}
