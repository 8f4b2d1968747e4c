//! Names and who has them already.

use serde_json::{Value, json};

use super::{Taken, accept};

fn taken() -> Taken {
    let mut taken = Taken::default();
    taken.give(&"widgets".into(), &json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["wd"]}));
    taken
}

#[test]
fn names_are_accepted_one_by_one() {
    let asks = |plural: &str, singular: &str, kind: &str, short: Value| json!({"plural": plural, "singular": singular, "kind": kind, "listKind": format!("{kind}List"), "shortNames": short});
    for (case, asked, accepted, names, conflict) in [
        (
            "free",
            asks("gadgets", "gadget", "Gadget", json!(["gd"])),
            json!({"plural": "", "kind": ""}),
            asks("gadgets", "gadget", "Gadget", json!(["gd"])),
            None,
        ),
        (
            "the last conflict is told",
            asks("gadgets", "widget", "Widget", json!(["wd", "gd"])),
            json!({"plural": "", "kind": ""}),
            json!({"plural": "gadgets", "kind": ""}),
            Some(("ListKindConflict", "\"WidgetList\" is already in use".to_owned())),
        ),
        (
            "what it has already is its own",
            asks("widgets", "widget", "Gadget", json!(["wd"])),
            json!({"plural": "widgets", "singular": "widget", "kind": "", "shortNames": ["wd"]}),
            asks("widgets", "widget", "Gadget", json!(["wd"])),
            None,
        ),
        (
            "several short names",
            asks("gadgets", "gadget", "Gadget", json!(["wd", "widgets"])),
            json!({}),
            json!({"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}),
            Some((
                "ShortNamesConflict",
                "[\"wd\" is already in use, \"widgets\" is already in use]".to_owned(),
            )),
        ),
    ] {
        let found = accept(&asked, &accepted, &taken(), "asking");
        assert_eq!(found.names, names, "{case}");
        assert_eq!(found.conflict, conflict, "{case}");
    }
}

#[test]
fn names_are_free_again_when_their_definition_goes() {
    let (mut taken, asked) = (taken(), json!({"plural": "widgets", "kind": "Widget"}));
    assert!(accept(&asked, &json!({}), &taken, "asking").conflict.is_some());
    assert!(accept(&asked, &json!({}), &taken, "widgets").conflict.is_none(), "what it has itself is free");
    assert!(taken.give(&"widgets".into(), &json!({"plural": "others", "kind": "Other"})));
    assert!(!taken.give(&"widgets".into(), &json!({"plural": "others", "kind": "Other"})), "nothing new");
    assert!(accept(&asked, &json!({}), &taken, "asking").conflict.is_none());
    assert!(taken.release("widgets") && !taken.release("widgets"));
    assert_eq!(taken.owners().count(), 0);
}
