use super::{function, functions};
use crate::types::Type;

fn has_error(ty: &Type) -> bool {
    match ty {
        Type::Error => true,
        Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => has_error(inner),
        Type::Map(key, value) => has_error(key) || has_error(value),
        _ => false,
    }
}

#[test]
fn every_signature_can_be_read() {
    for function in functions() {
        assert!(!function.overloads.is_empty(), "{} has no signature", function.name);
        for overload in &function.overloads {
            assert!(!overload.args.iter().chain([&overload.result]).any(has_error), "{overload:?}");
        }
    }
}

#[test]
fn signatures_say_what_they_mean() {
    for (name, id, member, args, result) in [
        ("_[_]", "index_map", false, "map(_var0, _var1), _var0", "_var1"),
        ("indexOf", "list_a_index_of_int", true, "list(_var0), _var0", "int"),
        ("format.dns1123Label", "format.dns1123Label", false, "", "kubernetes.NamedFormat"),
        ("getQuery", "url_get_query", true, "kubernetes.URL", "map(string, list(string))"),
    ] {
        let found =
            function(name).and_then(|function| function.overloads.iter().find(|overload| overload.id == id));
        let found = found.unwrap_or_else(|| panic!("{name} {id} is missing"));
        let types: Vec<String> = found.args.iter().map(Type::to_string).collect();
        assert_eq!(
            (found.member, types.join(", ").as_str(), found.result.to_string().as_str()),
            (member, args, result)
        );
    }
}
