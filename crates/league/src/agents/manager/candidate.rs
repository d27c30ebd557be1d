//! One who asks to be let in, as the league weighs it.

use league_core::league::Applicant;
use league_mcp::Origin;
use league_protocol::message::RegisterRequest;
use league_protocol::sender::Dialect;

use super::Manager;

impl Manager {
    /// What is weighed of a wish to be let in: where it comes from tells whether the address in it
    /// can be the caller's own.
    pub(super) fn candidate(
        &self,
        request: Box<RegisterRequest>,
        dialect: Dialect,
        origin: Origin,
    ) -> Applicant {
        let endpoint = &request.meta.contact_endpoint;
        let endpoint = self.allowed.check_of(origin, endpoint);
        Applicant {
            endpoint: endpoint.map(drop).map_err(|error| error.to_string()),
            speech: request.meta.speech,
            request,
            dialect,
            chance: self.chance.bytes(),
        }
    }
}
