//! Names a document by its content, so that a client can ask "still the same?". Knows nothing of HTTP headers.

/// The content's name in hexadecimal: 128-bit FNV-1a. Nobody gains anything from a collision with their own cache,
/// so speed and stability across builds count here and cryptographic strength doesn't.
pub fn fingerprint(content: &[u8]) -> String {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add(content);
    fingerprint.to_string()
}

/// A fingerprint of content that comes in pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprint(u128);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fingerprint {
    pub(crate) fn add(&mut self, content: &[u8]) {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        self.0 = content.iter().fold(self.0, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME));
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032X}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn is_the_published_function() {
        assert_eq!(fingerprint(b""), "6C62272E07BB014262B821756295C58D");
        assert_eq!(fingerprint(b"a"), "D228CB696F1A8CAF78912B704E4A8964");
    }
}
