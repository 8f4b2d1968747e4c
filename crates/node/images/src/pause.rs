//! The program that holds a sandbox's namespaces open, and its image. It does nothing until it is asked to end, and lets the kernel
//! bury the processes that are left to it; 230 bytes of machine code, so that no image is ever pulled for it.

use std::io;

use bytes::Bytes;
use serde_json::json;

use crate::build::{File, build};
use crate::manifest::Image;

/// Under this name it is in every containerd of ours.
pub const PAUSE_IMAGE: &str = "kedge.dev/pause:1";

/// Where the program is put in memory; the file's first byte is there.
const BASE: u64 = 0x0040_0000;
const ELF_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;

/// `rt_sigaction(SIGCHLD, ignore)`, then waits for one of the signals that ask it to end: blocked, because the first process of a
/// sandbox does not even get those that it has not asked for. Behind the code stand the action and the set of those signals.
const X86_64: &[u8] = &[
    0xb8, 0x0d, 0x00, 0x00, 0x00, // mov eax, 13 (rt_sigaction)
    0xbf, 0x11, 0x00, 0x00, 0x00, // mov edi, 17 (SIGCHLD)
    0x48, 0x8d, 0x35, 0x37, 0x00, 0x00, 0x00, // lea rsi, [the action]
    0x31, 0xd2, // xor edx, edx
    0x41, 0xba, 0x08, 0x00, 0x00, 0x00, // mov r10d, 8
    0x0f, 0x05, // syscall
    0xb8, 0x0e, 0x00, 0x00, 0x00, // mov eax, 14 (rt_sigprocmask)
    0x31, 0xff, // xor edi, edi (block)
    0x48, 0x8d, 0x35, 0x3f, 0x00, 0x00, 0x00, // lea rsi, [the set]
    0x0f, 0x05, // syscall
    0xb8, 0x80, 0x00, 0x00, 0x00, // mov eax, 128 (rt_sigtimedwait)
    0x48, 0x8d, 0x3d, 0x31, 0x00, 0x00, 0x00, // lea rdi, [the set]
    0x31, 0xf6, // xor esi, esi
    0x0f, 0x05, // syscall
    0x85, 0xc0, // test eax, eax
    0x78, 0xec, // back to the mov of 128 if it was disturbed
    0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, 60 (exit)
    0x31, 0xff, // xor edi, edi
    0x0f, 0x05, // syscall
];

const AARCH64: &[u32] = &[
    0xd280_10c8, // mov x8, 134 (rt_sigaction)
    0xd280_0220, // mov x0, 17 (SIGCHLD)
    0x1000_0201, // adr x1, the action
    0xd280_0002, // mov x2, 0
    0xd280_0103, // mov x3, 8
    0xd400_0001, // svc 0
    0xd280_10e8, // mov x8, 135 (rt_sigprocmask)
    0xd280_0000, // mov x0, 0 (block)
    0x1000_0241, // adr x1, the set
    0xd400_0001, // svc 0
    0xd280_1128, // mov x8, 137 (rt_sigtimedwait)
    0x1000_01e0, // adr x0, the set
    0xd280_0001, // mov x1, 0
    0xd400_0001, // svc 0
    0xb7ff_ff80, // back to the mov of 137 if it was disturbed
    0xd280_0ba8, // mov x8, 93 (exit)
    0xd280_0000, // mov x0, 0
    0xd400_0001, // svc 0
];

const ACTION: [u8; 32] = {
    let mut action = [0; 32];
    action[0] = 1; // SIG_IGN
    action
};

/// SIGINT and SIGTERM; signals count from one.
const ENDS: u64 = 1 << (2 - 1) | 1 << (15 - 1);

/// The image of every sandbox on this machine.
pub fn pause() -> io::Result<Image> {
    let program = File::Regular { path: "/pause".to_owned(), mode: 0o755, content: Bytes::from(program()?) };
    build(PAUSE_IMAGE, &[program], json!({"Entrypoint": ["/pause"], "User": "65535:65535"}))
}

fn program() -> io::Result<Vec<u8>> {
    let (machine, code): (u16, Vec<u8>) = match std::env::consts::ARCH {
        "x86_64" => (62, X86_64.to_vec()),
        "aarch64" => (183, AARCH64.iter().flat_map(|word| word.to_le_bytes()).collect()),
        other => return Err(io::Error::other(format!("there is no pause program for {other}"))),
    };
    Ok(elf(machine, &[&code[..], &ACTION, &ENDS.to_le_bytes()].concat()))
}

/// The smallest file that Linux starts: one header for the file, one for the only segment, and the code.
fn elf(machine: u16, code: &[u8]) -> Vec<u8> {
    let start = ELF_HEADER + PROGRAM_HEADER;
    let size = (start + code.len()) as u64;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_le_bytes());
    let word = |file: &mut Vec<u8>, value: u32| file.extend(value.to_le_bytes());
    let long = |file: &mut Vec<u8>, value: u64| file.extend(value.to_le_bytes());
    half(&mut file, 2); // an executable
    half(&mut file, machine);
    word(&mut file, 1);
    long(&mut file, BASE + start as u64); // where it begins
    long(&mut file, ELF_HEADER as u64); // where the segment's header is
    long(&mut file, 0); // no sections
    word(&mut file, 0);
    for value in [ELF_HEADER as u16, PROGRAM_HEADER as u16, 1, 0, 0, 0] {
        half(&mut file, value);
    }
    word(&mut file, 1); // to be loaded
    word(&mut file, 5); // to be read and executed
    for value in [0, BASE, BASE, size, size, 0x1000] {
        long(&mut file, value);
    }
    file.extend(code);
    file
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn pauses_until_it_is_asked_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pause");
        fs::write(&path, program().unwrap()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let mut child = Command::new(&path).spawn().unwrap();
        let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap();
        // The number of the call in which it waits stands first.
        let waits = || ["128 ", "137 "].iter().any(|call| read("syscall").starts_with(call));
        let patience = Instant::now() + Duration::from_secs(10);
        while !waits() && Instant::now() < patience {
            std::thread::yield_now();
        }
        assert!(waits(), "it does not wait for signals: {}", read("syscall"));
        let status = read("status");
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
        let ignored = u64::from_str_radix(ignored, 16).unwrap();
        assert!(ignored & (1 << (17 - 1)) != 0, "it does not ignore SIGCHLD: {ignored:x}");
        let asked = Command::new("kill").arg(child.id().to_string()).status().unwrap();
        assert!(asked.success());
        assert_eq!(child.wait().unwrap().code(), Some(0), "it was not ended by itself");
    }

    #[test]
    fn is_the_same_image_every_time() {
        assert_eq!(pause().unwrap().digest(), pause().unwrap().digest());
    }
}
