//! What may be a name, a label key, a port name and so on. Each rule returns upstream's messages, none if the text is fine.
//! Knows no kind; which rule holds where is the registry's.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Most rules have one message, few have two.
pub type Messages = Vec<String>;

fn regex_message(rule: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{rule} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
}

pub fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

fn too_many_bytes(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

fn is_label(text: &[u8]) -> bool {
    let inner = |c: &u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return false };
    inner(first) && inner(last) && text.iter().all(|c| inner(c) || *c == b'-')
}

pub fn is_subdomain(text: &str) -> bool {
    text.split('.').all(|label| is_label(label.as_bytes()))
}

fn is_key_name(text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return false };
    first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && text.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
}

/// The names of namespaces, containers, volumes…
pub fn dns1123_label(text: &str) -> Messages {
    let mut messages = Messages::new();
    if text.len() > 63 {
        messages.push(too_long(63));
    }
    if !is_label(text.as_bytes()) {
        messages.push(if is_subdomain(text) {
            "must not contain dots".into()
        } else {
            let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
                with an alphanumeric character";
            regex_message(rule, LABEL, &["my-name", "123-abc"])
        });
    }
    messages
}

/// The names of most objects.
pub fn dns1123_subdomain(text: &str) -> Messages {
    let mut messages = Messages::new();
    if text.len() > 253 {
        messages.push(too_long(253));
    }
    if !is_subdomain(text) {
        messages.push(subdomain_rule());
    }
    messages
}

fn subdomain_rule() -> String {
    let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and \
        end with an alphanumeric character";
    regex_message(rule, SUBDOMAIN, &["example.com"])
}

/// Host names that may stand for all below a domain.
pub fn wildcard_dns1123_subdomain(text: &str) -> Messages {
    let mut messages = Messages::new();
    if text.len() > 253 {
        messages.push(too_long(253));
    }
    if !text.strip_prefix("*.").is_some_and(is_subdomain) {
        let rule = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of \
            lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
        messages.push(regex_message(rule, &format!(r"\*\.{SUBDOMAIN}"), &["*.example.com"]));
    }
    messages
}

/// The names of services.
pub fn dns1035_label(text: &str) -> Messages {
    let mut messages = Messages::new();
    if text.len() > 63 {
        messages.push(too_long(63));
    }
    if !is_label(text.as_bytes()) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, \
            and end with an alphanumeric character";
        messages.push(regex_message(rule, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    messages
}

/// The keys of labels and annotations, finalizers, resource names: a name with an optional domain before it.
pub fn qualified_name(text: &str) -> Messages {
    let examples = ["MyName", "my.name", "123-abc"];
    let mut messages = Messages::new();
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                messages.push("prefix part must be non-empty".into());
            } else {
                if prefix.len() > 253 {
                    messages.push(format!("prefix part {}", too_many_bytes(253)));
                }
                if !is_subdomain(prefix) {
                    messages.push(format!("prefix part {}", subdomain_rule()));
                }
            }
            name
        }
        _ => {
            let rule = regex_message(KEY_RULE, KEY, &examples);
            return vec![format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        messages.push(format!("name part {}", too_many_bytes(63)));
    }
    if !is_key_name(name.as_bytes()) {
        messages.push(format!("name part {}", regex_message(KEY_RULE, KEY, &examples)));
    }
    messages
}

pub fn label_value(text: &str) -> Messages {
    let mut messages = Messages::new();
    if text.len() > 63 {
        messages.push(too_many_bytes(63));
    }
    if !text.is_empty() && !is_key_name(text.as_bytes()) {
        let rule =
            format!("a valid label must be an empty string or {}", KEY_RULE.trim_start_matches("must "));
        messages.push(regex_message(&rule, &format!("({KEY})?"), &["MyValue", "my_value", "12345"]));
    }
    messages
}

/// An address in its canonical form.
pub fn ip_address(name: &str) -> Vec<String> {
    match name.parse::<std::net::IpAddr>() {
        Err(_) => vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()],
        Ok(address) if address.to_string() != name => {
            vec![format!("must be in canonical form (\"{address}\")")]
        }
        Ok(_) => Vec::new(),
    }
}

/// The names of roles, and the least that holds for every name: it must fit into a path.
pub fn path_segment(text: &str) -> Messages {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

/// The same for a `generateName`.
pub fn path_segment_prefix(text: &str) -> Messages {
    ["/", "%"]
        .iter()
        .filter(|part| text.contains(**part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

pub fn env_var(text: &str) -> Messages {
    if text.is_empty() {
        return vec!["environment variable name must be non-empty".into()];
    }
    if text.chars().any(|c| !matches!(c, ' '..='~') || c == '=') {
        let rule = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        return vec![rule.into()];
    }
    Messages::new()
}

/// The keys of config maps and secrets.
pub fn config_key(text: &str) -> Messages {
    let mut messages = Messages::new();
    if text.len() > 253 {
        messages.push(too_long(253));
    }
    if text.is_empty() || !text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
    {
        let rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        messages.push(regex_message(rule, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    match text {
        "." | ".." => messages.push(format!("must not be '{text}'")),
        _ if text.starts_with("..") => messages.push("must not start with '..'".into()),
        _ => {}
    }
    messages
}

pub fn port_name(text: &str) -> Messages {
    let mut messages = Messages::new();
    if text.len() > 15 {
        messages.push(too_long(15));
    }
    let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if text.is_empty() || !text.bytes().all(allowed) {
        messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !text.bytes().any(|c| c.is_ascii_lowercase()) {
        messages.push("must contain at least one letter (a-z)".into());
    }
    if text.contains("--") {
        messages.push("must not contain consecutive hyphens".into());
    }
    if text.starts_with('-') || text.ends_with('-') {
        messages.push("must not begin or end with a hyphen".into());
    }
    messages
}

pub fn port_number(port: i64) -> Messages {
    if (1..=65535).contains(&port) {
        Messages::new()
    } else {
        vec!["must be between 1 and 65535, inclusive".into()]
    }
}

#[cfg(test)]
mod tests;
