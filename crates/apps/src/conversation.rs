//! One conversation of an application: its events and its actions.

use cellway_spec::DataConnection;
use cellway_units::Time;

use crate::action::{Action, ConnId, Side};
use crate::animation::Animation;
use crate::bulk::Bulk;
use crate::dialogue::Dialogue;
use crate::flows::Flows;
use crate::ftp::FtpScript;
use crate::ftp_get::FtpGet;
use crate::measured::{ClosedMeasured, OpenMeasured};
use crate::nntp::NntpScript;
use crate::page::Page;
use crate::random::{Named, Streams};
use crate::request_response::RequestResponse;
use crate::smtp::SmtpScript;
use crate::telnet::Telnet;
use crate::transfer::Transfer;
use crate::workload::Workload;
use crate::www::Www;

/// The state of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not over yet.
    Running,
    /// Ended in order.
    Completed,
    /// Ended because a connection was reset or timed out.
    Failed,
}

/// A conversation between two hosts. Holds the logic of both ends, but an end acts only on data that have arrived at
/// it. After [`Action::Ended`] every call is without effect.
///
/// The driver executes the actions of a call in their order. It calls [`written`](Conversation::written) once whenever
/// the bytes of [`Action::Write`] that TCP has not accepted fall to none, also within the instant of the write itself,
/// but after the call that returned the action. At an end for which [`reads_itself`](Conversation::reads_itself)
/// returns true, TCP keeps received bytes until [`Action::Consume`]; it may report bytes and the peer's close before
/// they are consumed.
#[derive(Debug)]
pub struct Conversation {
    app: App,
    /// Connections opened that have neither closed nor failed.
    open: u32,
    outcome: Outcome,
}

#[derive(Debug)]
enum App {
    Dialogue(Box<Dialogue>),
    Telnet(Box<Telnet>),
    Bulk(Bulk),
    Transfer(Box<Transfer>),
    FtpGet(Box<FtpGet>),
    Www(Box<Www>),
    Animation(Box<Animation>),
    Flows(Box<Flows>),
    RequestResponse(Box<RequestResponse>),
    Page(Box<Page>),
    OpenMeasured(Box<OpenMeasured>),
    ClosedMeasured(Box<ClosedMeasured>),
}

impl Conversation {
    /// Creates conversation `number` (from 0) of the slot called `slot`. Its sizes and times depend on nothing but the
    /// workload, the seed of `streams`, `slot` and `number`.
    pub fn new(workload: &Workload, streams: &Streams, slot: &str, number: u64) -> Conversation {
        let named = Named::new(streams, slot, number);
        let app = match workload {
            Workload::Ftp(ftp) => {
                let per_item = ftp.data_connection == DataConnection::PerItem;
                App::Dialogue(Box::new(Dialogue::new(Box::new(FtpScript::new(ftp, &named)), ftp.handshakes, per_item)))
            }
            Workload::Nntp(nntp) => {
                App::Dialogue(Box::new(Dialogue::new(Box::new(NntpScript::new(nntp, &named)), nntp.handshakes, false)))
            }
            Workload::Smtp(smtp) => {
                App::Dialogue(Box::new(Dialogue::new(Box::new(SmtpScript::new(smtp, &named)), smtp.handshakes, false)))
            }
            Workload::Telnet(telnet) => App::Telnet(Box::new(Telnet::new(telnet, &named))),
            Workload::Bulk(bulk) => match bulk.blocking {
                None => App::Bulk(Bulk::new(bulk)),
                Some(cost) => App::Transfer(Box::new(Transfer::new(bulk.size.map(|size| size.0), bulk.write.0, cost))),
            },
            Workload::Ttcp(ttcp) => {
                // Validation keeps the product small.
                let size = ttcp.write.0.saturating_mul(ttcp.buffers);
                App::Transfer(Box::new(Transfer::new(Some(size), ttcp.write.0, ttcp.write_cost)))
            }
            Workload::FtpGet(get) => App::FtpGet(Box::new(FtpGet::new(get))),
            Workload::Www(www) => App::Www(Box::new(Www::new(www))),
            Workload::Animation(animation) => App::Animation(Box::new(Animation::new(animation))),
            Workload::Flows(flows) => App::Flows(Box::new(Flows::new(flows, &named))),
            Workload::RequestResponse(workload) => App::RequestResponse(Box::new(RequestResponse::new(workload))),
            Workload::Page(page) => App::Page(Box::new(Page::new(page, &named))),
            Workload::Measured(measured) => match OpenMeasured::new(measured, named.keep()) {
                Some(open) => App::OpenMeasured(Box::new(open)),
                None => App::ClosedMeasured(Box::new(ClosedMeasured::new(measured, named.stream("conversation")))),
            },
        };
        Conversation { app, open: 0, outcome: Outcome::Running }
    }

    /// Returns its state.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Begins it: opens its first connection, actively at the originator. Flows open theirs as they arrive.
    pub fn start(&mut self, now: Time, out: &mut Vec<Action>) {
        self.step(out, |app, out| match app {
            App::Www(www) => www.open(now, out),
            App::Flows(flows) => flows.start(now, out),
            App::Page(page) => page.start(now, out),
            App::OpenMeasured(open) => open.start(now, out),
            App::ClosedMeasured(closed) => closed.start(now, out),
            _ => out.push(Action::Open { conn: ConnId(0), from: Side::Originator }),
        });
        self.end_if_over(out);
    }

    /// Returns true if `side` of `conn` controls its own reading, with [`Action::Consume`]. Otherwise it reads
    /// everything at once. Called when the connection is created; the value does not change.
    pub fn reads_itself(&self, _conn: ConnId, side: Side) -> bool {
        match &self.app {
            App::Www(www) => www.reads_itself(side),
            _ => false,
        }
    }

    /// Reports that `side` of `conn` is connected and may write.
    pub fn connected(&mut self, now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        self.step(out, |app, out| match app {
            App::Dialogue(dialogue) => dialogue.connected(now, conn, side, out),
            App::Telnet(telnet) => telnet.connected(now, side, out),
            App::Bulk(bulk) => bulk.connected(now, side, out),
            App::Transfer(transfer) => transfer.connected(now, side, out),
            App::FtpGet(get) => get.connected(now, conn, side, out),
            App::Www(www) => www.connected(conn, side, out),
            App::Animation(animation) => animation.connected(now, side, out),
            App::Flows(flows) => flows.connected(conn, side, out),
            App::RequestResponse(requests) => requests.connected(now, side, out),
            App::Page(page) => page.connected(now, conn, side, out),
            App::OpenMeasured(open) => open.connected(now, conn, side, out),
            App::ClosedMeasured(closed) => closed.connected(now, side, out),
        });
    }

    /// Reports that `bytes` more have arrived in order at `side` of `conn`. The application has read them, or they wait
    /// in the receive buffer if that side [controls its own reading](Conversation::reads_itself).
    pub fn received(&mut self, now: Time, conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        self.step(out, |app, out| match app {
            App::Dialogue(dialogue) => dialogue.received(now, conn, side, bytes, out),
            App::Telnet(telnet) => telnet.received(now, side, bytes, out),
            App::Bulk(bulk) => bulk.received(now, side, bytes, out),
            App::Transfer(transfer) => transfer.received(now, bytes, out),
            App::FtpGet(get) => get.received(now, conn, side, bytes, out),
            App::Www(www) => www.received(now, conn, side, bytes, out),
            App::Animation(animation) => animation.received(now, bytes, out),
            App::Flows(flows) => flows.received(conn, side, bytes, out),
            App::RequestResponse(requests) => requests.received(now, side, bytes, out),
            App::Page(page) => page.received(now, conn, side, bytes, out),
            App::OpenMeasured(open) => open.received(now, conn, side, bytes, out),
            App::ClosedMeasured(closed) => closed.received(now, side, bytes, out),
        });
    }

    /// Reports that TCP has accepted all bytes that `side` wrote on `conn` so far: a blocking write returns.
    pub fn written(&mut self, now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        self.step(out, |app, out| match app {
            App::Transfer(transfer) => transfer.written(now, out),
            App::FtpGet(get) => get.written(now, conn, out),
            App::Animation(animation) => animation.written(now, out),
            App::OpenMeasured(open) => open.written(now, conn, side, out),
            App::ClosedMeasured(closed) => closed.written(now, side, out),
            App::Dialogue(_)
            | App::Telnet(_)
            | App::Bulk(_)
            | App::Www(_)
            | App::Flows(_)
            | App::RequestResponse(_)
            | App::Page(_) => {}
        });
    }

    /// Reports that `bytes` more that `side` wrote on `conn` are acknowledged.
    pub fn acked(&mut self, now: Time, _conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        self.step(out, |app, out| match app {
            App::Telnet(telnet) => telnet.acked(now, side, bytes, out),
            App::Bulk(bulk) => bulk.acked(side, bytes, out),
            _ => {}
        });
    }

    /// Reports that `side` of `conn` has received everything: its peer closed. Bytes that a side has not read with
    /// [`Action::Consume`] remain readable.
    pub fn peer_closed(&mut self, _now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        self.step(out, |app, out| match app {
            App::Dialogue(dialogue) => dialogue.peer_closed(conn, side, out),
            App::FtpGet(get) => get.peer_closed(conn, side, out),
            App::Www(www) => www.peer_closed(conn, side, out),
            App::Telnet(_)
            | App::Bulk(_)
            | App::Transfer(_)
            | App::Animation(_)
            | App::Flows(_)
            | App::RequestResponse(_)
            | App::Page(_)
            | App::OpenMeasured(_)
            | App::ClosedMeasured(_) => {
                if side == Side::Responder {
                    out.push(Action::Close { conn, side });
                }
            }
        });
    }

    /// Reports that both sides of `conn` have closed it, and each has received the FIN of the other.
    pub fn closed(&mut self, now: Time, conn: ConnId, out: &mut Vec<Action>) {
        self.open = self.open.saturating_sub(1);
        match &mut self.app {
            App::Flows(flows) => flows.closed(conn),
            App::OpenMeasured(open) => open.closed(conn),
            App::ClosedMeasured(closed) if self.outcome == Outcome::Running => closed.closed(now, out),
            _ => {}
        }
        self.end_if_over(out);
    }

    /// Reports that `conn` was reset or timed out: the conversation fails. Of conversations that arrive by themselves
    /// only the one of `conn` does, and a page or measured conversation that is complete needs no connection.
    pub fn failed(&mut self, now: Time, conn: ConnId, out: &mut Vec<Action>) {
        self.open = self.open.saturating_sub(1);
        match &mut self.app {
            App::Flows(flows) => flows.failed(conn, out),
            App::OpenMeasured(open) => open.failed(conn, out),
            App::Page(page) if page.is_complete() => {}
            App::ClosedMeasured(closed) if self.outcome == Outcome::Running => {
                if closed.failed(now, out) {
                    return self.end(Outcome::Failed, out);
                }
                out.push(Action::Abort { conn });
            }
            _ if self.outcome == Outcome::Running => return self.end(Outcome::Failed, out),
            _ => return,
        }
        self.end_if_over(out);
    }

    /// Reports that the timer `id` has expired.
    pub fn timer(&mut self, now: Time, id: u32, out: &mut Vec<Action>) {
        self.step(out, |app, out| match app {
            App::Telnet(telnet) => telnet.timer(now, id, out),
            App::Transfer(transfer) => transfer.timer(now, out),
            App::FtpGet(get) => get.timer(now, out),
            App::Www(www) => www.timer(now, out),
            App::Animation(animation) => animation.timer(now, out),
            App::Flows(flows) => flows.timer(now, out),
            App::RequestResponse(requests) => requests.timer(now, out),
            App::Page(page) => page.timer(),
            App::OpenMeasured(open) => open.timer(now, id, out),
            App::ClosedMeasured(closed) => closed.timer(now, id, out),
            App::Dialogue(_) | App::Bulk(_) => {}
        });
        self.end_if_over(out);
    }

    /// Calls the application unless the conversation is over, and counts the connections that it opens.
    fn step(&mut self, out: &mut Vec<Action>, act: impl FnOnce(&mut App, &mut Vec<Action>)) {
        if self.outcome == Outcome::Running {
            let before = out.len();
            act(&mut self.app, out);
            let opened = out[before..].iter().filter(|action| matches!(action, Action::Open { .. })).count();
            self.open += opened as u32;
        }
    }

    /// Ends a conversation in order once no connection is open and none will be.
    fn end_if_over(&mut self, out: &mut Vec<Action>) {
        let is_over = match &self.app {
            App::Flows(flows) => flows.is_over(),
            App::Page(page) => self.open == 0 && page.is_over(),
            App::OpenMeasured(open) => open.is_over(),
            App::ClosedMeasured(closed) => self.open == 0 && closed.is_over(),
            _ => self.open == 0,
        };
        if is_over && self.outcome == Outcome::Running {
            self.end(Outcome::Completed, out);
        }
    }

    fn end(&mut self, outcome: Outcome, out: &mut Vec<Action>) {
        self.outcome = outcome;
        out.push(Action::Ended);
    }
}
