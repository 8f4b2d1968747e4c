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

#[test]
fn several_objects_are_one_list_in_one_editor() {
    let cluster = Cluster::start();
    two_namespaces(&cluster);
    let map = |name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: '1'}}\n")
    };
    let both = cluster.file("both.yaml", &format!("{}---\n{}", map("one"), map("two")));
    for who in ["ours", "stock"] {
        cluster.kubectl(["apply", "-f", &both, "-n", who]);
    }
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
        assert_eq!(ours.3.len(), stock.3.len(), "{case}: as many editors");
        for (our_file, file) in ours.3.iter().zip(&stock.3) {
            let heading = |text: &str| {
                let reasons = text.lines().filter(|line| line.starts_with("# ") && !line.starts_with("# *"));
                reasons.map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(heading(our_file), heading(file), "{case}");
        }
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
