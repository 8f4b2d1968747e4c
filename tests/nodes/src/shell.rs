//! Reads what a container was told to run, as far as test programs go: for how long it runs and how it ends. Understands
//! sleeping, exiting, one condition on a marker file or on the parity of a number; everything else takes no time and succeeds.

use std::collections::HashSet;

/// One run of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// `None` if it runs until somebody stops it.
    pub(crate) seconds: Option<i64>,
    pub(crate) code: i32,
}

impl Run {
    pub(crate) const FOREVER: Self = Self { seconds: None, code: 0 };
}

/// Images that serve until they are stopped when nobody says what else to run.
const SERVERS: [&str; 6] = ["pause", "agnhost", "nginx", "httpd", "redis", "webserver"];

/// What runs, and with what.
pub(crate) struct Program<'a> {
    pub(crate) image: &'a str,
    /// Command and arguments.
    pub(crate) words: Vec<&'a str>,
    pub(crate) variables: &'a [(String, String)],
    /// Which files it can see: those of other containers with the same place.
    pub(crate) place: &'a str,
    /// Something different in every run, for programs that throw dice.
    pub(crate) dice: u64,
    pub(crate) restarts: bool,
}

/// The files that programs have left.
#[derive(Debug, Default)]
pub(crate) struct Marks(HashSet<String>);

pub(crate) fn run(program: &Program<'_>, marks: &mut Marks) -> Run {
    let serves = SERVERS.iter().any(|server| program.image.contains(server));
    match &*program.words {
        [] if serves || program.restarts => Run::FOREVER,
        [] => Run { seconds: Some(0), code: 0 },
        words => {
            let text = filled_in(&words.join(" "), program.variables);
            let text = &*branch(&text, program, marks);
            let said = read(text, program.dice);
            let says_nothing = !["sleep", "exit", "true", "false", "echo", "date"]
                .iter()
                .any(|word| text.split_whitespace().any(|other| other.trim_matches(';') == *word));
            // A server with arguments of its own, or a program that we can't read and that is expected to stay.
            if says_nothing && (serves || program.restarts) { Run::FOREVER } else { said }
        }
    }
}

fn filled_in(text: &str, variables: &[(String, String)]) -> String {
    variables.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
    })
}

/// The part of a script that is run: all of it, or one side of its condition.
fn branch(text: &str, program: &Program<'_>, marks: &mut Marks) -> String {
    let (Some(then), Some(end)) = (text.find("then"), text.rfind("fi")) else { return text.to_owned() };
    let (Some(condition), Some(sides)) = (text.get(..then), text.get(then + 4..end)) else {
        return text.to_owned();
    };
    let (yes, no) = sides.split_once("else").unwrap_or((sides, ""));
    let words: Vec<&str> = condition.split_whitespace().collect();
    let after = |word: &str| {
        let at = words.iter().position(|other| *other == word)?;
        words.get(at + 1).map(|word| word.trim_matches(['(', ')']))
    };
    let holds = if let Some(file) = ["-r", "-f", "-e"].into_iter().find_map(after) {
        !marks.0.insert(format!("{}:{file}", program.place))
    } else if let Some(number) = after("$(expr").and_then(|word| word.parse::<i64>().ok()) {
        number % 2 != 0
    } else {
        true
    };
    if holds { yes } else { no }.to_owned()
}

fn read(text: &str, dice: u64) -> Run {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == ';').filter(|w| !w.is_empty()).collect();
    let mut slept = 0;
    let mut code = 0;
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        match word.rsplit('/').next().unwrap_or(word) {
            "sleep" => match words.next() {
                Some("infinity" | "inf") | None => return Run::FOREVER,
                Some(time) => slept += time.trim_end_matches('s').parse().unwrap_or(0),
            },
            "exit" => {
                let said = words.next().unwrap_or("0");
                let thrown = i32::from(said.starts_with("$((") && dice % 2 == 1);
                return Run { seconds: Some(slept), code: said.parse().unwrap_or(thrown) };
            }
            "false" => code = 1,
            "true" => code = 0,
            _ => {}
        }
    }
    Run { seconds: Some(slept), code }
}

#[cfg(test)]
mod tests;
