use super::*;

fn program<'a>(image: &'a str, words: &[&'a str], variables: &'a [(String, String)]) -> Program<'a> {
    Program { image, words: words.to_vec(), variables, place: "p", dice: 1, restarts: false }
}

#[test]
fn reads_how_long_a_program_runs_and_how_it_ends() {
    let for_seconds = |seconds, code| Run { seconds: Some(seconds), code };
    for (image, words, restarts, wanted) in [
        ("registry.k8s.io/pause:3.10", vec![], false, Run::FOREVER),
        ("busybox", vec![], false, for_seconds(0, 0)),
        ("busybox", vec![], true, Run::FOREVER),
        ("busybox", vec!["sleep", "1000000"], false, for_seconds(1_000_000, 0)),
        ("busybox", vec!["sleep", "infinity"], false, Run::FOREVER),
        ("busybox", vec!["/bin/sh", "-c", "exit 1"], false, for_seconds(0, 1)),
        ("busybox", vec!["/bin/sh", "-c", "sleep 5; exit 3"], false, for_seconds(5, 3)),
        ("busybox", vec!["/bin/sh", "-c", "exit $(( $RANDOM / 16384 ))"], false, for_seconds(0, 1)),
        ("busybox", vec!["/bin/true"], false, for_seconds(0, 0)),
        ("busybox", vec!["false"], true, for_seconds(0, 1)),
        ("agnhost:2.40", vec!["serve-hostname"], false, Run::FOREVER),
        ("perl", vec!["perl", "-Mbignum=bpi", "-wle", "print bpi(2000)"], false, for_seconds(0, 0)),
        (
            "busybox",
            vec!["sh", "-c", "date; echo Hello from the Kubernetes cluster"],
            false,
            for_seconds(0, 0),
        ),
    ] {
        let program = Program { restarts, ..program(image, &words, &[]) };
        assert_eq!(run(&program, &mut Marks::default()), wanted, "{image} {words:?}");
    }
}

#[test]
fn a_marker_file_changes_the_second_run() {
    let script = "if [[ -r /data/foo-$JOB_COMPLETION_INDEX ]]\nthen\nexit 0\nelse\ntouch /data/foo-$JOB_COMPLETION_INDEX\nexit 42\nfi";
    let (one, two) = ([index(1)], [index(2)]);
    let mut marks = Marks::default();
    let codes = [&one, &two, &one]
        .map(|variables| run(&program("busybox", &["/bin/sh", "-c", script], variables), &mut marks).code);
    assert_eq!(codes, [42, 42, 0]);
}

#[test]
fn a_condition_on_parity_chooses_a_side() {
    let script = "if [ $(expr ${JOB_COMPLETION_INDEX} % 2) -ne 0 ]; then\nexit 1\nelse\nexit 0\nfi";
    let codes = [0, 1, 2, 3].map(|number| {
        let variables = [index(number)];
        run(&program("busybox", &["sh", "-c", script], &variables), &mut Marks::default()).code
    });
    assert_eq!(codes, [0, 1, 0, 1]);
}

fn index(number: i32) -> (String, String) {
    ("JOB_COMPLETION_INDEX".to_owned(), number.to_string())
}
