//! What words come to.

use super::{Command, Flag, Parsed, Typed, optional, parse, switch, value};

const FLAGS: &[Flag] = &[
    value("output", "FORMAT", "").or('o'),
    switch("watch", "").or('w'),
    switch("all-namespaces", "").or('A'),
    optional("dry-run", "client", ""),
];
static GET: Command =
    Command { name: "get", flags: &[FLAGS], run: Some(|_, _| Box::pin(async { Ok(()) })), ..Command::EMPTY };
static ROOT: Command = Command { children: &[&GET], ..Command::EMPTY };

fn read(line: &str) -> Result<Parsed, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse("kubectl", &ROOT, &words).map_err(|error| error.to_string())
}

fn run(line: &str) -> Typed {
    match read(line) {
        Ok(Parsed::Run(typed)) => typed,
        Ok(Parsed::Help(..) | Parsed::Unfinished(..)) => panic!("{line}: help"),
        Err(error) => panic!("{line}: {error}"),
    }
}

#[test]
fn flags_stand_anywhere_and_in_any_form() {
    for (line, output, all, dry, words) in [
        ("get pods -o wide", Some("wide"), false, None, "pods"),
        ("get -owide pods", Some("wide"), false, None, "pods"),
        ("get -o=wide pods a", Some("wide"), false, None, "pods a"),
        ("-n x get pods --output=name -A", Some("name"), true, None, "pods"),
        ("get pods -Ao yaml", Some("yaml"), true, None, "pods"),
        ("get pods --dry-run a", None, false, Some("client"), "pods a"),
        ("get pods --dry-run=server -A=false", None, false, Some("server"), "pods"),
        ("get pods -- -o wide", None, false, None, "pods -o wide"),
        ("get - -A", None, true, None, "-"),
    ] {
        let typed = run(line);
        assert_eq!(typed.text("output"), output, "{line}");
        assert_eq!(typed.is("all-namespaces"), all, "{line}");
        assert_eq!(typed.text("dry-run"), dry, "{line}");
        assert_eq!(typed.words.join(" "), words, "{line}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_a_hint() {
    for (line, said) in [
        ("gte pods", "unknown command \"gte\" for \"kubectl\"\n\nDid you mean this?\n\tget\n"),
        ("get --wach", "unknown flag: --wach; did you mean --watch?"),
        ("get -x", "unknown shorthand flag: 'x' in -x"),
        ("get -o", "flag needs an argument: 'o' in -o"),
        (
            "get -w=perhaps",
            "invalid argument \"perhaps\" for \"-w, --watch\" flag: strconv.ParseBool: parsing \"perhaps\": invalid syntax",
        ),
    ] {
        assert_eq!(read(line).err().as_deref(), Some(said), "{line}");
    }
}

#[test]
fn help_is_asked_for_in_every_way() {
    for line in ["", "help", "--help", "get -h", "help get", "get pods --help"] {
        assert!(matches!(read(line), Ok(Parsed::Help(..))), "{line}");
    }
}

#[test]
fn durations_may_be_bare_seconds() {
    for (text, seconds) in [("30", 30.0), ("1m30s", 90.0), ("500ms", 0.5), ("-1", 604_800.0)] {
        let read = super::duration(text).map(|read| read.as_secs_f64());
        assert_eq!(read, Some(seconds), "{text}");
    }
    assert_eq!(super::duration("soon"), None);
}
