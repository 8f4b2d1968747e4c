//! `$(NAME)` in commands, arguments and values. What is unknown stays as it is written, and `$$` is one `$`.

/// Puts in what `known` answers to.
pub(crate) fn expand(text: &str, known: impl Fn(&str) -> Option<String>) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        done.push_str(before);
        let behind = from.get(1..).unwrap_or_default();
        if let Some(left) = behind.strip_prefix('$') {
            done.push('$');
            rest = left;
            continue;
        }
        let named = behind.strip_prefix('(').and_then(|open| open.split_once(')'));
        match named {
            Some((name, left)) => {
                match known(name) {
                    Some(value) => done.push_str(&value),
                    None => done.push_str(&format!("$({name})")),
                }
                rest = left;
            }
            None => {
                done.push('$');
                rest = behind;
            }
        }
    }
    done.push_str(rest);
    done
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn known_names_are_put_in() {
        let known = |name: &str| match name {
            "A" => Some("one".to_owned()),
            "EMPTY" => Some(String::new()),
            "B" => Some("$(A)".to_owned()),
            _ => None,
        };
        for (text, expanded) in [
            ("", ""),
            ("plain", "plain"),
            ("$(A)", "one"),
            ("x$(A)y$(A)", "xoneyone"),
            ("[$(EMPTY)]", "[]"),
            ("$(B)", "$(A)"),
            ("$(C)", "$(C)"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$one"),
            ("$$$$", "$$"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
            ("$()", "$()"),
            ("é$(A)é", "éoneé"),
        ] {
            assert_eq!(expand(text, known), expanded, "{text}");
        }
    }
}
