//! Who is connected from where: one address leaves a part of the room to all others. Knows no sockets.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

#[derive(Clone)]
pub(super) struct Guests {
    most: usize,
    connected: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One connection of an address. Held while it lasts.
pub(super) struct Guest {
    guests: Guests,
    address: IpAddr,
}

impl Guests {
    /// `room` for all; an address may have all of it but a quarter.
    pub(super) fn new(room: usize) -> Self {
        Self { most: room - room / 4, connected: Arc::default() }
    }

    /// `None` if the address has its part already.
    pub(super) fn enter(&self, address: IpAddr) -> Option<Guest> {
        let mut connected = self.connected.lock();
        let count = connected.entry(address.to_canonical()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Guest { guests: self.clone(), address: address.to_canonical() })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut connected = self.guests.connected.lock();
        if let Some(count) = connected.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                connected.remove(&self.address);
            }
        }
    }
}
