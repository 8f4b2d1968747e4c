use serde_json::json;

use crate::{Budget, CostRange, Decl, Env, Issue, PER_CALL_LIMIT, Value};

/// What each rule costs to evaluate on one object, and at most by its schema. Upstream counts the same.
#[test]
fn costs_are_those_that_upstream_counts() {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 10},
        "free": {"type": "string"},
        "count": {"type": "integer"},
        "items": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 4}},
        "labels": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "string", "maxLength": 8}},
        "parts": {"type": "array", "maxItems": 2, "items": {"type": "object", "properties": {
            "port": {"type": "integer"}, "host": {"type": "string", "maxLength": 20}}}},
    }});
    let decl = Decl::from_schema(&schema, true, "self").unwrap();
    let env = Env::new().variable("self", decl.clone());
    let object = json!({"name": "abc", "free": "x".repeat(25), "count": 3, "items": ["a", "b", "c"],
        "labels": {"k": "v"}, "parts": [{"port": 80, "host": "h"}, {"port": 443}]});
    let mut wrong = Vec::new();
    for (rule, spent, max) in TABLE {
        let program = env.compile(rule).unwrap_or_else(|issues| panic!("{rule}: {}", Issue::join(&issues)));
        let mut budget = Budget::new(PER_CALL_LIMIT);
        let _ = program.eval(&[("self", Value::declared(&object, &decl).unwrap())], &mut budget);
        let CostRange { max: most, .. } = program.estimate();
        if (budget.spent(), most) != (*spent, *max) {
            wrong.push(format!("(\"{rule}\", {}, {most}),", budget.spent()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

const TABLE: &[(&str, u64, u64)] = &[
    ("true", 0, 0),
    ("self.count > 1", 3, 3),
    ("has(self.name)", 1, 1),
    ("self.name == 'abc'", 3, 3),
    ("self.free == self.free", 7, 314577),
    ("self.name.startsWith('a')", 3, 3),
    ("self.free.contains('xx')", 5, 314575),
    ("self.name.matches('^[a-z]+$')", 4, 12),
    ("self.items.all(i, i.size() < 5)", 21, 33),
    ("self.items.exists(i, i == 'b')", 18, 33),
    ("self.items.exists_one(i, i == 'b')", 12, 24),
    ("self.items.map(i, i + 'x').size() == 3", 47, 90),
    ("self.items.filter(i, i != 'a').size() == 2", 37, 90),
    ("self.labels.all(k, self.labels[k].size() > 0)", 11, 30),
    ("self.labels.all(k, v, k != v)", 9, 18),
    ("self.parts.all(p, has(p.host) ? p.host.size() < 20 : p.port > 100)", 18, 19),
    ("self.parts.exists(p, p.host == 'z')", 17, 17),
    ("'b' in self.items", 5, 7),
    ("self.name in ['abc', 'def']", 2, 14),
    ("self.count in [1, self.count]", 16, 16),
    ("[1, 2, 3].sum() == 6", 4, 14),
    ("self.items.join(',') == 'a,b,c'", 4, 12),
    ("self.items.isSorted()", 2, 17),
    ("self.name.split('') == ['a', 'b', 'c']", 4, 21),
    ("self.free.replace('x', 'yy').size() == 50", 9, 629150),
    ("self.name.find('[b]') == 'b'", 4, 8),
    ("sets.contains(self.items, ['a'])", 6, 18),
    ("self.items.sort() == self.items", 34, 69),
    ("quantity('1Gi').isGreaterThan(quantity('1G'))", 3, 3),
    ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", 3, 6),
    ("format.dns1123Label().validate(self.name).hasValue()", 12, 132),
    ("url('https://a.b/c').getHost() == 'a.b'", 4, 4),
    ("self.?name.orValue('x') == 'abc'", 3, 4),
    ("self.?name.optMap(n, n.size()).orValue(0) == 3", 10, 21),
    ("duration('1h') < duration('2h')", 1, 3),
    ("self.count == 3 || self.items[5] == 'x'", 3, 6),
    ("self.count / 0 == 1 || true", 4, 4),
    ("{'a': self.count}.a == 3", 35, 33),
];
