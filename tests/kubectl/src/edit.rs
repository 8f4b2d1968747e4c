//! Several objects in one editor, by us and by stock kubectl beside each other.

use std::path::Path;

use crate::cluster::{Cluster, eventually};
use crate::own::{answer, two_namespaces, words};

/// An editor that keeps every file that it is given and changes it as it is told: the first time, and then.
const EDITOR: &str = "\
#!/bin/sh
number=$(ls $SEEN | wc -l)
cp \"$1\" $SEEN/$number
case $number in
0) sed -i -e \"$FIRST\" \"$1\" ;;
*) sed -i -e \"$THEN\" \"$1\" ;;
esac
";

/// Exit code, what was printed, what was complained of, and the files that were opened.
type Told = (Option<i32>, String, String, Vec<String>);

fn edit(cluster: &Cluster, who: &str, line: &str, first: &str, then: &str) -> Told {
    use std::os::unix::fs::PermissionsExt as _;
    let seen = tempfile::tempdir().unwrap();
    let editor = cluster.file("editor", EDITOR);
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut words = words(line);
    words.push(format!("--namespace={who}"));
    let arguments = words.iter().map(String::as_str);
    let mut command = if who == "ours" { cluster.own_command(arguments) } else { cluster.command(arguments) };
    command.env("KUBE_EDITOR", &editor).env("SEEN", seen.path()).env("FIRST", first).env("THEN", then);
    let answer = answer(command);
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    let mut files: Vec<_> =
        std::fs::read_dir(seen.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    // Where a copy was kept differs each time.
    let complaints = answer.err.lines().map(|line| line.split(" to \"").next().unwrap_or_default());
    let complaints = complaints.collect::<Vec<_>>().join("\n");
    (answer.code, answer.out, complaints, files.iter().map(|path| text(path)).collect())
}

fn map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: '1'}}\n")
}

/// A file with two objects, which are there in both namespaces.
fn both_applied(cluster: &Cluster) -> String {
    let both = cluster.file("both.yaml", &format!("{}---\n{}", map("one"), map("two")));
    for who in ["ours", "stock"] {
        cluster.kubectl(["apply", "-f", &both, "-n", who]);
    }
    both
}

/// As many editors were opened, with the same in them as far as `shown` tells.
fn same_files(case: &str, ours: &Told, stock: &Told, shown: impl Fn(&str) -> String) {
    let shown = |told: &Told| told.3.iter().map(|file| shown(file)).collect::<Vec<_>>();
    assert_eq!(shown(ours), shown(stock), "{case}");
}

#[test]
fn several_objects_are_one_list_in_one_editor() {
    let cluster = Cluster::start();
    two_namespaces(&cluster);
    let both = both_applied(&cluster);
    let in_file = format!("edit -f {both}");
    for (case, line, first, then) in [
        ("nothing is changed", "edit cm one two", "", ""),
        ("a comment is no change", "edit cm one two", "$a # seen", ""),
        ("both are changed", "edit cm one two", "s/a: \"1\"/a: \"2\"/", ""),
        ("one is changed", "edit cm one two", "0,/a: \"2\"/s//a: \"3\"/", ""),
        ("manifests", &in_file, "s/a: \"[23]\"/a: \"4\"/", ""),
        ("JSON", "edit cm/one cm/two -o json", "s/\"a\": \"4\"/\"a\": \"4\"/", ""),
        ("refused, then mended", "edit cm one two", "s/a: \"4\"/a: 7/", "s/a: 7/a: \"5\"/"),
        ("refused and left so", "edit cm one two", "s/a: \"5\"/a: 7/", ""),
        ("no YAML", "edit cm one two", "s/a: \"5\"/a: [/", ""),
        ("another name", "edit cm one", "s/name: one/name: three/", ""),
    ] {
        let (ours, stock) =
            (edit(&cluster, "ours", line, first, then), edit(&cluster, "stock", line, first, then));
        assert_eq!((ours.0, &ours.1, &ours.2), (stock.0, &stock.1, &stock.2), "{case}");
        same_files(case, &ours, &stock, |text| {
            let reasons = text.lines().filter(|line| line.starts_with("# ") && !line.starts_with("# *"));
            reasons.collect::<Vec<_>>().join("\n")
        });
        let data = |who: &str| cluster.kubectl(["get", "cm", "-n", who, "-o", "jsonpath={.items[*].data.a}"]);
        assert_eq!(data("ours"), data("stock"), "{case}");
    }
}

#[test]
fn what_was_accepted_is_not_opened_again() {
    let cluster = Cluster::start();
    cluster.kubectl(["create", "namespace", "ours"]);
    eventually("the account is there", || {
        let found = cluster.kubectl(["get", "sa", "-n", "ours", "-o", "name"]);
        if found.contains("default") { Ok(()) } else { Err(found) }
    });
    for name in ["one", "two"] {
        cluster.kubectl(["create", "cm", name, "--from-literal=a=1", "-n", "ours"]);
    }
    // The first is wrong, the second is not.
    let first = "0,/a: \"1\"/s//a: 7/; /name: one/,$s/a: \"1\"/a: \"2\"/";
    let (code, out, _, files) = edit(&cluster, "ours", "edit cm one two", first, "s/a: 7/a: \"3\"/");
    assert_eq!((code, &*out), (Some(0), "configmap/two edited\nconfigmap/one edited\n"));
    assert!(files[1].contains("name: one") && !files[1].contains("name: two"), "{}", files[1]);
}

/// Whoever's namespace it is in, and without what a parser says of a mistake, which is its own.
fn neutral(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("# *")).collect::<Vec<_>>().join("\n");
    ["ours", "stock"].iter().fold(lines, |text, who| {
        text.replace(&format!("namespace: {who}"), "namespace: N")
            .replace(&format!("\"namespace\": \"{who}\""), "")
    })
}

#[test]
fn what_was_applied_last_is_edited_alone() {
    let cluster = Cluster::start();
    two_namespaces(&cluster);
    let both = both_applied(&cluster);
    for who in ["ours", "stock"] {
        cluster.kubectl(["create", "cm", "bare", "-n", who]);
    }
    let in_file = format!("apply edit-last-applied -f {both}");
    for (case, line, first, then) in [
        ("nothing is changed", "apply edit-last-applied cm one", "", ""),
        ("one", "apply edit-last-applied cm one", "s/a: \"1\"/a: \"2\"/", ""),
        ("both", "apply edit-last-applied cm one two", "s/a: \"[12]\"/a: \"3\"/", ""),
        ("manifests", &in_file, "s/a: \"3\"/a: \"4\"/", ""),
        ("one that has none beside it", "apply edit-last-applied cm/one cm/bare", "s/a: \"4\"/a: \"5\"/", ""),
        ("none that has any", "apply edit-last-applied cm bare", "s/bare/more/", ""),
        ("a field more", "apply edit-last-applied cm one", "s/^data:/data:\\n  b: \"1\"/", ""),
        ("no YAML, then mended", "apply edit-last-applied cm one", "s/a: \"5\"/a: [/", "s/a: \\[/a: \"6\"/"),
        ("no YAML", "apply edit-last-applied cm one", "s/a: \"6\"/a: [/", ""),
        ("another name", "apply edit-last-applied cm one", "s/name: one/name: three/", ""),
    ] {
        let ours = edit(&cluster, "ours", line, first, then);
        let stock = edit(&cluster, "stock", line, first, then);
        let our_words = ours.2.replace("kedge kubectl", "kubectl");
        assert_eq!((ours.0, &ours.1, &our_words), (stock.0, &stock.1, &stock.2), "{case}");
        same_files(case, &ours, &stock, neutral);
        let state = |who: &str| {
            let data = cluster.kubectl(["get", "cm", "-n", who, "-o", "jsonpath={.items[*].data.a}"]);
            let applied = ["one", "two"].map(|name| {
                cluster.kubectl([
                    "get",
                    "cm",
                    name,
                    "-n",
                    who,
                    "-o",
                    "jsonpath={.metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration}",
                ])
            });
            (data, applied.map(|text| text.replace(&format!("\"{who}\""), "\"N\"")))
        };
        assert_eq!(state("ours"), state("stock"), "{case}");
        assert_eq!(state("ours").0, "1 1", "{case}: the objects stay as they are");
    }
    // Of several each counts for itself; stock kubectl takes the second for changed here, too.
    let (_, out, _, _) =
        edit(&cluster, "ours", "apply edit-last-applied cm one two", "0,/a: \".\"/s//a: \"9\"/", "");
    assert_eq!(out, "configmap/one edited\nconfigmap/two skipped\n");
    let json = "apply edit-last-applied cm one -o json";
    let (code, out, _, files) = edit(&cluster, "ours", json, "s/\"a\": \"9\"/\"a\": \"8\"/", "");
    assert_eq!(code, Some(0));
    assert!(out.contains("\"a\": \"8\"") && files[0].starts_with('{'), "{out}\n{}", files[0]);
}

#[test]
fn manifests_are_edited_before_they_are_created() {
    let cluster = Cluster::start();
    two_namespaces(&cluster);
    let one = cluster.file("one.yaml", &map("one"));
    let two = cluster.file("two.yaml", &format!("{}---\n{}", map("one"), map("two")));
    let list = format!(
        "create --edit -f {}",
        cluster.file(
            "list.json",
            r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"l"},"data":{"a":"1"}}]}"#,
        )
    );
    let (one, two) = (format!("create --edit -f {one}"), format!("create --edit -f {two}"));
    for (case, line, first, then) in [
        ("nothing is changed", one.clone(), "", ""),
        ("changed", one.clone(), "s/a: \"1\"/a: \"2\"/", ""),
        ("there already", one.clone(), "s/a: \"1\"/a: \"3\"/", ""),
        ("another name", one.clone(), "s/name: one/name: three/", ""),
        ("one after the other", two.clone(), "s/name: one/name: four/", "s/name: two/name: five/"),
        ("the first is refused", two.clone(), "s/a: \"1\"/a: \"4\"/", "s/name: two/name: six/"),
        ("of a list", list, "s/a: \"1\"/a: \"5\"/", ""),
        ("no name", one.clone(), "s/name: one/name: _x/", ""),
        ("an unknown field", one.clone(), "s/^data/datum/", ""),
        ("no YAML, then mended", one.clone(), "s/a: \"1\"/a: [/", "s/a: \\[/b: \"6\"/; s/one/seven/"),
        ("no YAML", one.clone(), "s/a: \"1\"/a: [/", ""),
        ("what was said is kept", format!("{one} --save-config"), "s/one/eight/", ""),
        ("JSON", format!("{one} -o json"), "s/one/nine/", ""),
    ] {
        let ours = edit(&cluster, "ours", &line, first, then);
        let stock = edit(&cluster, "stock", &line, first, then);
        if case == "JSON" {
            assert_eq!((ours.0, stock.0), (Some(0), Some(0)), "{case}");
            assert!(ours.1.contains("\"name\": \"nine\""), "{}", ours.1);
        } else {
            assert_eq!((ours.0, &ours.1, &ours.2), (stock.0, &stock.1, &stock.2), "{case}");
        }
        same_files(case, &ours, &stock, neutral);
        let state = |who: &str| {
            let path =
                "jsonpath={range .items[*]}{.metadata.name} {.data.a} {.metadata.annotations}{\"\\n\"}{end}";
            cluster.kubectl(["get", "cm", "-n", who, "-o", path]).replace(&format!("\\\"{who}\\\""), "N")
        };
        assert_eq!(state("ours"), state("stock"), "{case}");
    }
    // A rehearsal is one; stock kubectl creates it all the same.
    let dry = format!("{one} --dry-run=client");
    let (code, out, _, _) = edit(&cluster, "ours", &dry, "s/one/ten/", "");
    assert_eq!((code, &*out), (Some(0), "configmap/ten created (dry run)\n"));
    assert_eq!(cluster.kubectl(["get", "cm", "ten", "-n", "ours", "--ignore-not-found"]), "");
}
