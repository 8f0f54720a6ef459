//! Choices of the buffer of an output line.

use cellway_settings::choice;

choice! {
    /// What a buffer size is meant for.
    pub enum BufferPer {
        /// For each conversation slot whose path uses the port: the port has size × slots.
        Conversation = "conversation",
        /// For the whole port.
        Port = "port",
    }
}

choice! {
    /// Who may fill which part of a port's buffer. Cáceres 1993, section 2.4, leaves open how it is divided.
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
    /// What fills a buffer.
    pub enum Charge {
        /// Whole cells.
        Cell = "cell",
        /// Bytes of IP packets, without padding, trailer and cell headers.
        Packet = "packet",
    }
}

choice! {
    /// The queue discipline of a packet line.
    pub enum QueueDiscipline {
        /// First in, first out.
        Fifo = "fifo",
        /// Random early detection: packets are dropped or marked as the average queue grows.
        Red = "red",
    }
}

choice! {
    /// What is dropped when a buffer is full.
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
