//! Choices of the buffer of an output line.

use cellway_settings::choice;

choice! {
    /// The entity that a buffer size is for.
    pub enum BufferPer {
        /// For each conversation slot whose path uses the port: the port has size × slots.
        Conversation = "conversation",
        /// For the whole port.
        Port = "port",
    }
}

choice! {
    /// The division of a port's buffer. Cáceres 1993, section 2.4, leaves it open.
    pub enum Sharing {
        /// One pool per output port.
        Pool = "pool",
        /// Each channel has the share of its conversations.
        Channel = "channel",
        /// Each conversation has its own limit, even inside a shared queue.
        Conversation = "conversation",
    }
}

choice! {
    /// The unit that fills a buffer.
    pub enum Charge {
        /// Whole cells.
        Cell = "cell",
        /// Bytes of IP packets, without padding, trailer and cell headers.
        Packet = "packet",
    }
}

choice! {
    /// The rule for packets that arrive at a full buffer.
    pub enum Discard {
        /// At a router the whole packet if its cells do not all fit, at a switch single cells.
        Frame = "frame",
        /// The cells that do not fit.
        Cell = "cell",
        /// As frame; after a lost cell a switch drops the rest of the frame but its last cell.
        Ppd = "ppd",
        /// As ppd; a frame whose first cell comes while the buffer is filled to its threshold is refused whole.
        Epd = "epd",
    }
}
