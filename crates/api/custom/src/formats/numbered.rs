//! Formats whose digits carry a checksum.

fn digits_of(text: &str, dropped: impl Fn(char) -> bool) -> String {
    text.chars().filter(|char| !dropped(*char)).collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let digits = digits_of(text, |char| char == '-' || char.is_whitespace());
    let value = |(at, char): (usize, char)| match char {
        'X' if at == 9 => Some(10),
        char => char.to_digit(10),
    };
    let weighed = digits.chars().enumerate().map(|one| value(one).map(|value| (one.0, value)));
    let sum: Option<u32> =
        weighed.map(|one| one.map(|(at, value)| u32::try_from(at + 1).unwrap_or(0) * value)).sum();
    digits.len() == 10 && sum.is_some_and(|sum| sum.is_multiple_of(11))
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let digits = digits_of(text, |char| char == '-' || char.is_whitespace());
    let weighed = digits
        .chars()
        .enumerate()
        .map(|(at, char)| char.to_digit(10).map(|digit| digit * if at % 2 == 0 { 1 } else { 3 }));
    let sum: Option<u32> = weighed.sum();
    digits.len() == 13 && sum.is_some_and(|sum| sum.is_multiple_of(10))
}

pub(super) fn is_credit_card(text: &str) -> bool {
    let digits = digits_of(text, |char| !char.is_ascii_digit());
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| digits.starts_with(prefix));
    let known = match digits.len() {
        13 => starts(&["4"]),
        14 => starts(&["300", "301", "302", "303", "304", "305", "36", "38"]),
        15 => starts(&["34", "37", "2131", "1800"]),
        16 => starts(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    };
    let sum: u32 = digits
        .chars()
        .rev()
        .enumerate()
        .filter_map(|(at, char)| char.to_digit(10).map(|digit| (at, digit)))
        .map(|(at, digit)| if at % 2 == 1 { digit * 2 / 10 + digit * 2 % 10 } else { digit })
        .sum();
    known && sum.is_multiple_of(10)
}

/// With both separators: the length is fixed.
pub(super) fn is_ssn(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(at, byte)| match at {
            3 | 6 => matches!(byte, b'-' | b' '),
            _ => byte.is_ascii_digit(),
        })
}
