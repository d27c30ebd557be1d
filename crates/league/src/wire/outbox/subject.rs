//! What messages are about, as far as it matters how they are carried.

use league_protocol::id::MatchId;
use league_protocol::message::Message;

/// Whether an agent asks to be admitted.
pub(crate) const fn is_application(message: &Message) -> bool {
    matches!(
        message,
        Message::PlayerRegisterRequest(_) | Message::RefereeRegisterRequest(_)
    )
}

/// The match that a message belongs to.
pub(crate) fn match_of(message: &Message) -> Option<&MatchId> {
    match message {
        Message::StartMatch(order) => Some(&order.match_id),
        Message::StartMatchAck(ack) => Some(&ack.match_id),
        Message::GameInvitation(invitation) => Some(&invitation.match_id),
        Message::GameJoinAck(ack) => Some(&ack.match_id),
        Message::GameStart(start) => Some(&start.match_id),
        Message::MoveCall(call) => Some(&call.match_id),
        Message::MoveResponse(response) => Some(&response.match_id),
        Message::PlayValidation(validation) => Some(&validation.match_id),
        Message::GameOver(over) => Some(&over.match_id),
        Message::GameError(error) => Some(&error.match_id),
        Message::MatchResultReport(report) => Some(&report.match_id),
        Message::RefereeRegisterRequest(_)
        | Message::RefereeRegisterResponse(_)
        | Message::PlayerRegisterRequest(_)
        | Message::PlayerRegisterResponse(_)
        | Message::LeagueStart(_)
        | Message::RoundAnnouncement(_)
        | Message::RoundCompleted(_)
        | Message::LeagueCompleted(_)
        | Message::StandingsUpdate(_)
        | Message::LeagueQuery(_)
        | Message::LeagueQueryResponse(_)
        | Message::LeagueError(_)
        | Message::Ping
        | Message::Acknowledged => None,
    }
}
