//! The programs that an emulation starts.

use cellway_settings::table;

use crate::quantity::RttSpan;

table! {
    /// A program that an emulation starts in a host; a simulation leaves it out.
    pub(crate) struct CommandFile {
        /// The name in results: unique among commands, groups and slots. Default: "HOST-command-1", counted from 1 in the file.
        name: Option<String>,
        /// The host that runs it: a node of that kind, or the host of a slot, "bulk-1" (originator) or "bulk-1-sink" (responder).
        host: String,
        /// The program and its arguments, one string each, without a shell. $CELLWAY_HOST_NAME in a string is the address of
        /// host NAME, with _ for each - in the name.
        #[length(min = 1)]
        run: Vec<String>,
        /// When it starts, from the start of the run.
        start: RttSpan = RttSpan::ZERO,
        /// When the emulator ends it. Default: at the end of the run.
        stop: Option<RttSpan>,
        /// The expected exit status. A program that the emulator ends has not failed.
        #[range(max = 255)]
        expect: u32 = 0,
        /// The run starts when this program is ready: when a process uses this port of the host, as "5201" (TCP, or UDP), or
        /// when the program prints a line that matches this regular expression, as "listening on". Not with `start`.
        #[length(min = 1)]
        ready: Option<String>,
        /// The numbers to record from its standard output.
        #[length(min = 1)]
        figure: Option<Vec<FigureFile>>,
    }
}

table! {
    /// A figure that a command prints; one of `json` and `pattern`.
    pub(crate) struct FigureFile {
        /// Its name in results; unique among the figures of the command.
        metric: String,
        /// The unit of the recorded value, "1" for a ratio or a count.
        #[length(min = 1)]
        unit: String,
        /// The path in the JSON that the program prints: keys, and indices from 0, joined by dots, like
        /// "end.sum_received.bits_per_second".
        #[length(min = 1)]
        json: Option<String>,
        /// A regular expression with one group, the number. The last match counts; other groups are (?:...).
        #[length(min = 1)]
        pattern: Option<String>,
        /// The factor that converts the number to `unit`.
        #[range(min = -1e12, max = 1e12)]
        times: f64 = 1.0,
    }
}
