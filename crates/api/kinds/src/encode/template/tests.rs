use super::*;

#[test]
fn tells_how_much_is_the_same() {
    let text: Vec<u8> = (0..200).collect();
    for length in [0, 1, 7, 8, 9, 63, 64, 65, 72, 127, 199, 200] {
        let mut other = text.clone();
        if let Some(byte) = other.get_mut(length) {
            *byte = !*byte;
        }
        assert_eq!(common(&text, &other), length);
        assert_eq!(common(&text, &text[..length]), length, "one is shorter");
        assert_eq!(common(&text[..length], &text), length, "the other is shorter");
    }
}
