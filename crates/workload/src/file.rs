//! The tables and keys of the file. The doc comments here are the help that the schema shows in editors and that the
//! reference prints; the same schema defines which keys are accepted.

use cellway_settings::{choice, table};
use serde_json::{Map, Value};

use crate::knots::KnotsFile;
use crate::messages::MessagesFile;

table! {
    /// Classes of measured traffic. Times are in seconds, sizes in octets, without units.
    pub(crate) struct File as "Cellway workload" {
        /// The version of this format.
        #[range(min = 1, max = 1)]
        version: u32,
        /// The classes of conversations.
        #[length(min = 1)]
        class: Vec<ClassFile>,
    }
}

choice! {
    /// The protocol of a class.
    pub enum Transport {
        /// Exchanges of requests and responses over a connection.
        Tcp = "tcp",
        /// Packets in both directions.
        Udp = "udp",
    }
}

choice! {
    /// A law that is fitted to a distribution.
    pub enum LawName {
        /// The natural logarithm is normal; `mu`, `sigma`.
        Lognormal = "lognormal",
        /// A power law; `minimum`, `shape`.
        Pareto = "pareto",
        /// Weibull; `scale`, `shape`.
        Weibull = "weibull",
        /// Exponential; `mean`.
        Exponential = "exponential",
    }
}

table! {
    /// A class of conversations. A distribution that is left out was not seen: there is no such size or time, and
    /// without `arrival_gap` conversations cannot arrive by themselves.
    pub(crate) struct ClassFile {
        /// Up to 64 letters, digits, -, _, . and other characters but # and spaces; unique.
        #[length(min = 1)]
        name: String,
        /// The protocol, which decides the distributions.
        transport: Transport,
        /// Conversations from which the distributions were made.
        conversations: u64,
        /// Conversations that were left out: a reason and their number for each key. Default: none.
        #[key("left_out")]
        left_out: Option<Map<String, Value>>,
        /// Seconds between the starts of two conversations.
        #[key("arrival_gap")]
        arrival_gap: Option<DistributionFile>,
        /// tcp: whole conversations, each as likely, which are played in place of exchanges. A conversation is two
        /// lists, of the messages of the originator and of those of the responder. A message is its octets, the octets of
        /// the other end that arrive before it, and the seconds from then, or from the message before it, to this one.
        messages: Option<MessagesFile>,
        /// tcp: the exchanges of a conversation; required without `messages`.
        exchanges: Option<DistributionFile>,
        /// tcp: octets from the originator in an exchange; 0 if the responder sends by itself. Required
        /// without `messages`.
        request: Option<DistributionFile>,
        /// tcp: octets from the responder in an exchange; 0 if it does not respond.
        response: Option<DistributionFile>,
        /// tcp: seconds from the arrival of a whole request to the beginning of the response.
        pause: Option<DistributionFile>,
        /// tcp: seconds from the arrival of a whole response to the next request.
        think: Option<DistributionFile>,
        /// tcp: round-trip times in seconds. For the reader only: a simulated path has its own.
        rtt: Option<DistributionFile>,
        /// udp: packets from the originator in a conversation; required.
        packets: Option<DistributionFile>,
        /// udp: packets from the responder in a conversation.
        #[key("packets_back")]
        packets_back: Option<DistributionFile>,
        /// udp: octets of payload of a packet from the originator; required.
        size: Option<DistributionFile>,
        /// udp: octets of payload of a packet from the responder.
        #[key("size_back")]
        size_back: Option<DistributionFile>,
        /// udp: seconds between packets from the originator.
        gap: Option<DistributionFile>,
        /// udp: seconds between packets from the responder.
        #[key("gap_back")]
        gap_back: Option<DistributionFile>,
    }
}

table! {
    /// A distribution, by its quantiles.
    pub(crate) struct DistributionFile {
        /// Knots of a probability and the value that is exceeded with the rest: the probabilities rise to 1, the values
        /// do not fall. Between knots the cumulative distribution is a straight line; the first value has its whole
        /// probability.
        knots: KnotsFile,
        /// The number of samples.
        #[range(min = 1)]
        samples: u64,
        /// A law fitted to the samples.
        fit: Option<FitFile>,
    }
}

table! {
    /// A law fitted to a distribution, with the parameters of the law.
    pub(crate) struct FitFile {
        /// The law.
        law: LawName,
        /// The largest distance between law and samples (Kolmogorov-Smirnov).
        #[range(min = 0, max = 1)]
        ks: f64,
        /// lognormal: the mean of the natural logarithm; required.
        #[range(min = -1000, max = 1000)]
        mu: Option<f64>,
        /// lognormal: the standard deviation of the natural logarithm; required.
        #[range(min = 0, max = 1000)]
        sigma: Option<f64>,
        /// pareto: the least value; required.
        #[range(above = 0, max = 1e15)]
        minimum: Option<f64>,
        /// pareto: the exponent of the tail. weibull: the exponent. Required.
        #[range(above = 0)]
        shape: Option<f64>,
        /// weibull: the value that a share of 1/e exceeds; required.
        #[range(above = 0, max = 1e15)]
        scale: Option<f64>,
        /// exponential: the mean; required.
        #[range(above = 0, max = 1e15)]
        mean: Option<f64>,
    }
}
