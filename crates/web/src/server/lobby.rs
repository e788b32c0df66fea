//! Connections on which nobody has shown yet who he is. Where they are too many, of one address or of all, the oldest of them is cut:
//! whoever only holds connections holds no place of others, and many servers behind one address still get in, one after the other.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iostall_measure::{Clock, MonotonicClock};

/// So many of one address at a time.
const OF_ADDRESS_MAX: usize = 32;
/// Nobody is cut who came less than this ago, nanoseconds: on a busy machine greetings alone take some of it.
const LEFT_ALONE_NS: u64 = 2_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Lobby<C = MonotonicClock> {
    guests: Mutex<HashMap<IpAddr, Vec<Arc<Guest>>>>,
    clock: C,
    cut: AtomicU64,
}

#[derive(Debug)]
struct Guest {
    socket: Arc<TcpStream>,
    since_ns: u64,
    /// Whether it is this server that takes its time, and not the guest.
    is_served: AtomicBool,
}

/// A connection in the lobby; it leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Presence<C = MonotonicClock> {
    lobby: Arc<Lobby<C>>,
    address: IpAddr,
    guest: Arc<Guest>,
}

impl<C: Clock> Lobby<C> {
    pub(super) fn enter(self: &Arc<Self>, peer: IpAddr, socket: &Arc<TcpStream>) -> Presence<C> {
        let address = network(peer);
        let guest = Arc::new(Guest {
            socket: Arc::clone(socket),
            since_ns: self.clock.now_ns(),
            is_served: AtomicBool::new(false),
        });
        let mut guests = self.lock();
        let of_address = guests.entry(address).or_default();
        if of_address.len() >= OF_ADDRESS_MAX {
            self.cut_oldest(of_address);
        }
        of_address.push(Arc::clone(&guest));
        drop(guests);
        Presence { lobby: Arc::clone(self), address, guest }
    }

    /// Cuts the oldest connection of whoever has most of them.
    pub(super) fn make_room(&self) {
        if let Some(most) = self.lock().values_mut().max_by_key(|guests| guests.len()) {
            self.cut_oldest(most);
        }
    }

    fn cut_oldest(&self, guests: &mut Vec<Arc<Guest>>) {
        let now_ns = self.clock.now_ns();
        let is_to_go = |guest: &Arc<Guest>| {
            now_ns - guest.since_ns > LEFT_ALONE_NS && !guest.is_served.load(Ordering::Relaxed)
        };
        if let Some(oldest) = guests.iter().position(is_to_go) {
            // It may be gone already.
            let _ = guests.remove(oldest).socket.shutdown(Shutdown::Both);
            self.cut.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<C> Lobby<C> {
    /// How many were cut.
    pub(super) fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Vec<Arc<Guest>>>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Presence<C> {
    /// Whether the guest waits for this server, which is no reason to cut it.
    pub(super) fn serve(&self, is_served: bool) {
        self.guest.is_served.store(is_served, Ordering::Relaxed);
    }
}

impl<C> Drop for Presence<C> {
    fn drop(&mut self) {
        let mut guests = self.lobby.lock();
        if let Some(of_address) = guests.get_mut(&self.address) {
            of_address.retain(|guest| !Arc::ptr_eq(guest, &self.guest));
            if of_address.is_empty() {
                guests.remove(&self.address);
            }
        }
    }
}

/// Whoever has an address of IPv6 has as many as fit into its last half.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & (u128::MAX << 64)).into()),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use iostall_measure::ManualClock;

    use super::*;

    /// A socket of which both ends are here.
    fn pair() -> (Arc<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Arc::new(listener.accept().unwrap().0), client)
    }

    #[test]
    fn of_an_address_with_too_many_the_oldest_that_keeps_us_waiting_is_cut_and_others_stay() {
        let clock = ManualClock::new();
        let lobby =
            Arc::new(Lobby { guests: Mutex::default(), clock: clock.clone(), cut: AtomicU64::new(0) });
        let [bad, other]: [IpAddr; 2] = ["192.0.2.7", "192.0.2.8"].map(|text| text.parse().unwrap());
        let (socket, _client) = pair();
        let _other = lobby.enter(other, &socket);
        let mut present: Vec<Presence<ManualClock>> =
            (0..OF_ADDRESS_MAX).map(|_| lobby.enter(bad, &socket)).collect();
        present[0].serve(true);
        present.push(lobby.enter(bad, &socket));
        assert_eq!(lobby.cut(), 0, "all came just now");
        clock.advance_by(LEFT_ALONE_NS + 1);
        present.push(lobby.enter(bad, &socket));
        assert_eq!(lobby.cut(), 1);
        let is_there = |presence: &Presence<ManualClock>| {
            lobby.lock()[&bad].iter().any(|guest| Arc::ptr_eq(guest, &presence.guest))
        };
        assert!(is_there(&present[0]) && !is_there(&present[1]), "the first is being served");
        lobby.make_room();
        assert_eq!((lobby.cut(), lobby.lock()[&other].len()), (2, 1));
        drop(present);
        assert_eq!(lobby.lock().len(), 1);
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.7"), of("192.0.2.7"));
    }
}
