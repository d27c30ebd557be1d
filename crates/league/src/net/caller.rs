//! From where the call comes that is being answered, for those few who ask.
//!
//! It belongs to the task that answers, so that it need not be handed through every reader of the
//! call. What is answered in another task, or came by a pipe, is of unknown origin.

use std::net::IpAddr;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// From where the call comes.
    pub from: IpAddr,
    /// At which address of ours it arrived.
    pub at: IpAddr,
}

tokio::task_local! {
    static PRESENT: Option<Caller>;
}

impl Caller {
    /// A call from one address to another.
    pub fn new(from: IpAddr, at: IpAddr) -> Self {
        Self {
            from: from.to_canonical(),
            at: at.to_canonical(),
        }
    }

    /// Whoever makes the call that this task answers.
    pub fn present() -> Option<Self> {
        PRESENT.try_with(|caller| *caller).ok().flatten()
    }

    /// Where the caller is, if it is not on this machine.
    pub fn elsewhere(self) -> Option<IpAddr> {
        let here = self.from.is_loopback() || self.from == self.at;
        (!here).then_some(self.from)
    }
}

/// Answers a call of somebody.
pub(super) async fn answering<T>(caller: Option<Caller>, answer: impl Future<Output = T>) -> T {
    PRESENT.scope(caller, answer).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(from: &str, at: &str) -> Caller {
        Caller::new(from.parse().unwrap(), at.parse().unwrap())
    }

    #[test]
    fn whoever_calls_from_this_machine_is_here_by_whatever_address() {
        for (from, at, elsewhere) in [
            ("127.0.0.1", "127.0.0.1", false),
            ("127.0.0.3", "127.0.0.2", false),
            ("::ffff:127.0.0.1", "::ffff:127.0.0.1", false),
            ("10.0.0.7", "10.0.0.7", false),
            ("::ffff:10.0.0.7", "10.0.0.7", false),
            ("10.0.0.8", "10.0.0.7", true),
        ] {
            let found = caller(from, at).elsewhere();
            assert_eq!(found.is_some(), elsewhere, "{from} {at}");
        }
    }

    #[tokio::test]
    async fn a_caller_is_known_while_it_is_answered() {
        let somebody = caller("10.0.0.8", "10.0.0.7");
        let seen = answering(Some(somebody), async { Caller::present() }).await;
        assert_eq!(seen, Some(somebody));
        assert_eq!(Caller::present(), None);
    }
}
