//! A token among the arguments is shown to everybody who lists processes. Begins this process anew with the token in its environment,
//! which only its own user reads.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

const FLAG: &str = "--token";
const VARIABLE: &str = "KEDGE_TOKEN";

/// Comes back if there is nothing to hide, or if it cannot be hidden.
pub(crate) fn hide_token() {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let (Some((rest, token)), Ok(program)) = (apart(&arguments), std::env::current_exe()) else { return };
    let mut again = Command::new(program);
    if let Some((name, rest)) = rest.split_first() {
        again.arg0(name).args(rest);
    }
    // It only comes back with an error, and then a token that is seen does what it should.
    let _seen = again.env(VARIABLE, token).exec();
}

/// The arguments without the token, and the token; the last one, if there are several.
fn apart(arguments: &[OsString]) -> Option<(Vec<OsString>, OsString)> {
    let mut token = None;
    let mut rest = Vec::new();
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        if argument == FLAG {
            token = left.next().cloned();
        } else if let Some(value) = value(argument) {
            token = Some(value);
        } else {
            rest.push(argument.clone());
        }
    }
    token.map(|token| (rest, token))
}

/// Of `--token=…`.
fn value(argument: &OsStr) -> Option<OsString> {
    let value = argument.as_bytes().strip_prefix(FLAG.as_bytes())?.strip_prefix(b"=")?;
    Some(OsString::from_vec(value.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_taken_out_and_nothing_else() {
        for (case, arguments, expected) in [
            ("none", "kedge agent --server a", None),
            ("as a word", "kedge agent --token t --server a", Some(("kedge agent --server a", "t"))),
            ("in one word", "kedge agent --token=t", Some(("kedge agent", "t"))),
            ("twice", "kedge agent --token=t --token u", Some(("kedge agent", "u"))),
            ("a file is no token", "kedge agent --token-file f", None),
            ("a flag without a token", "kedge agent --token", None),
        ] {
            let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
            let found = apart(&arguments).map(|(rest, token)| {
                let rest: Vec<_> = rest.into_iter().map(|word| word.into_string().unwrap()).collect();
                (rest.join(" "), token.into_string().unwrap())
            });
            let found = found.as_ref().map(|(rest, token)| (&**rest, &**token));
            assert_eq!(found, expected, "{case}");
        }
    }
}
