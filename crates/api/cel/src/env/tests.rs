use super::Env;
use crate::{Decl, Issue, Type};

#[test]
fn messages_are_those_that_users_know() {
    let env = Env::new()
        .variable("self", Decl::object("selfType", [("s", Type::String.into()), ("i", Type::Int.into())]))
        .variable("d", Type::Dyn);
    for (source, expected) in [
        ("foo", "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo\n | ^"),
        (
            "1 + 'a'",
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^",
        ),
        ("self.x", "ERROR: <input>:1:5: undefined field 'x'\n | self.x\n | ....^"),
        (
            "self.s == null",
            "ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(string, null)'\n | self.s == null\n | .......^",
        ),
        (
            "self.s.nope()",
            "ERROR: <input>:1:12: undeclared reference to 'nope' (in container '')\n | self.s.nope()\n | ...........^",
        ),
        (
            "self.s.startsWith(1)",
            "ERROR: <input>:1:18: found no matching overload for 'startsWith' applied to 'string.(int)'\n | self.s.startsWith(1)\n | .................^",
        ),
        (
            "self.i && true",
            "ERROR: <input>:1:5: expected type 'bool' but found 'int'\n | self.i && true\n | ....^",
        ),
        ("[1, 'a']", "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^"),
        (
            "self.i.all(x, true)",
            "ERROR: <input>:1:5: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)\n | self.i.all(x, true)\n | ....^",
        ),
        (
            "self.s.size",
            "ERROR: <input>:1:7: type 'string' does not support field selection\n | self.s.size\n | ......^",
        ),
        ("has(self)", "ERROR: <input>:1:5: invalid argument to has() macro\n | has(self)\n | ....^"),
        (
            "[1].all(x.y, true)",
            "ERROR: <input>:1:10: argument must be a simple name\n | [1].all(x.y, true)\n | .........^",
        ),
        (
            "duration('1x') == d",
            "ERROR: <input>:1:10: invalid duration argument\n | duration('1x') == d\n | .........^",
        ),
        (
            "self.s.matches('(')",
            "ERROR: <input>:1:16: invalid matches argument\n | self.s.matches('(')\n | ...............^",
        ),
        ("namespace", "ERROR: <input>:1:1: reserved identifier: namespace\n | namespace\n | ^"),
        (
            "a\n + b",
            "ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a\n | ^\nERROR: <input>:2:4: undeclared reference to 'b' (in container '')\n |  + b\n | ...^",
        ),
    ] {
        let found = env.compile(source).map_err(|issues| Issue::join(&issues));
        assert_eq!(found.map(|_| ()).unwrap_err(), expected, "{source}");
    }
}

#[test]
fn programs_know_their_type_and_variables() {
    let env = Env::new().variable("self", Type::list(Type::String)).variable("oldSelf", Type::Dyn);
    for (source, output, uses_old) in [
        ("self.map(x, x.size())", "list(int)", false),
        ("self == oldSelf", "bool", true),
        ("self[0]", "string", false),
        ("oldSelf.x", "dyn", true),
        ("{'a': self}", "map(string, list(string))", false),
        ("self.exists(oldSelf, oldSelf == 'a')", "bool", false),
        ("optional.of(1)", "optional_type(int)", false),
        ("type(1)", "type(int)", false),
        ("[]", "list(dyn)", false),
        ("true ? dyn(1) : 'a'", "dyn", false),
    ] {
        let program = env.compile(source).map_err(|issues| Issue::join(&issues)).unwrap();
        assert_eq!(
            (program.output().to_string().as_str(), program.uses("oldSelf")),
            (output, uses_old),
            "{source}"
        );
    }
}
