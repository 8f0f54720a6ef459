//! The programs that an emulation starts.

use cellway_settings::table;

use crate::quantity::RttSpan;

table! {
    /// A program that an emulation starts in a host; a simulation leaves it out.
    pub(crate) struct CommandFile {
        /// Unique among commands, and no group or slot. Default: by host and place in the file, "HOST-command-1".
        name: Option<String>,
        /// The host that runs it: a node that is a host, or the own host of a slot, like "bulk-1" or "bulk-1-sink".
        host: String,
        /// The program and its arguments, word by word; no shell reads them. $CELLWAY_HOST_NAME in a word stands for the
        /// address of host NAME, with _ for each - of its name.
        #[length(min = 1)]
        run: Vec<String>,
        /// The time at which it is started, from the start of the run.
        start: RttSpan = RttSpan::ZERO,
        /// The time at which it is ended. Default: not before the end of the run.
        stop: Option<RttSpan>,
        /// The exit status that is no failure. To be ended by the emulator is none.
        #[range(max = 255)]
        expect: u32 = 0,
        /// The sign that the program is ready, for one that starts with the run: the run begins once it is. A port ("5201") on which
        /// something listens in its host (TCP) or is bound (UDP), or a regular expression that matches a line of its output.
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
        /// Its path in the JSON that the command prints: keys, and numbers of elements from 0, joined by points, like
        /// "end.sum_received.bits_per_second".
        #[length(min = 1)]
        json: Option<String>,
        /// A regular expression with one group that is the number; the last match counts.
        #[length(min = 1)]
        pattern: Option<String>,
        /// The factor by which the number is multiplied to be in `unit`.
        #[range(min = -1e12, max = 1e12)]
        times: f64 = 1.0,
    }
}
