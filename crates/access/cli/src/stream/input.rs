//! Standard input as it comes, read beside everything else. Knows not who listens.

use std::io::Read;

use bytes::Bytes;
use tokio::sync::mpsc;

const READ: usize = 32 * 1024;

/// Ends when the input does. A thread of its own reads, since nothing can interrupt a read from a terminal; the program ends without it.
pub(crate) fn standard() -> mpsc::Receiver<Bytes> {
    read(std::io::stdin())
}

pub(crate) fn read(mut from: impl Read + Send + 'static) -> mpsc::Receiver<Bytes> {
    let (say, heard) = mpsc::channel(4);
    std::thread::spawn(move || {
        let mut buffer = vec![0; READ];
        loop {
            match from.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    if say.blocking_send(Bytes::copy_from_slice(&buffer[..count])).is_err() {
                        return;
                    }
                }
            }
        }
    });
    heard
}
