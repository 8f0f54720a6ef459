//! `cellway workload from-pcap`.

use std::path::Path;

use cellway_lab::captured::{self, Class, Derived, Next, Progress, Protocol};

use crate::args::FromPcap;
use crate::reading::Reading;
use crate::table::{Kind, LeftOut, Table};
use crate::{FAILED, Face, Failure, output};

pub(crate) fn run(options: &FromPcap, face: &mut Face<'_>) -> Result<(), Failure> {
    if let Some(out) = &options.out {
        cellway_lab::check_free(out, options.force)?;
    }
    let by = captured::by(&options.by)?;
    options.files.iter().for_each(|file| output::detail(&format!("reads {}", file.display())));
    let mut reading = Reading::new();
    let derived = captured::from_captures(&options.files, by, options.messages, &mut |Progress { done, total }| {
        reading.show(done, total);
        if (face.interrupted)() { Next::Stop } else { Next::Continue }
    })?;
    drop(reading);
    let warnings = derived.faults.iter().map(|(file, fault)| {
        format!("{}: {fault}; the records before it count, the rest was not read", file.display())
    });
    let order = (derived.totals.earlier > 0).then(|| {
        let count = output::count(derived.totals.earlier, "packet");
        format!(
            "{count} with an earlier time than the packet before: conversations follow the order of the file, so some \
             may be torn apart; reordercap of Wireshark puts packets in the order of their times"
        )
    });
    output::warn(&warnings.chain(order).collect::<Vec<_>>());
    if options.json {
        output::json(&captured::document(&derived));
    } else {
        table(&derived).print();
        summary(&derived);
    }
    options.out.as_deref().map_or(Ok(()), |out| write(&derived, out, options.force))
}

/// Writes the workload file, unless no class would be in it.
fn write(derived: &Derived, out: &Path, force: bool) -> Result<(), Failure> {
    let incomplete = incomplete(derived);
    if incomplete.len() == derived.workload.classes.len() {
        let message = format!(
            "{} was not written: no conversation in the captures is complete; accepted: captures with the first and the \
             last packet of a conversation",
            out.display()
        );
        return Err(Failure { message, code: FAILED });
    }
    if !incomplete.is_empty() {
        output::warn(&[format!(
            "no conversation of {} is complete, so the file has no such class; a longer capture may have some",
            incomplete.join(", ")
        )]);
    }
    let errors = derived.workload.classes.iter().filter(|class| class.is_in_file()).flat_map(|class| {
        class.mean_errors.iter().map(|(name, error)| {
            format!(
                "the mean of {name} of {} is {:+.1} % off in the file: its values are too many for the knots of a \
                 distribution",
                class.name,
                error * 100.0
            )
        })
    });
    output::warn(&errors.collect::<Vec<_>>());
    captured::write(derived, out, force)?;
    output::detail(&format!("wrote {}", out.display()));
    Ok(())
}

/// Returns the classes that a workload file does not have.
fn incomplete(derived: &Derived) -> Vec<&str> {
    derived.workload.classes.iter().filter(|class| !class.is_in_file()).map(|class| &class.name[..]).collect()
}

fn table(derived: &Derived) -> Table {
    let titles = [
        "class",
        "conversations",
        "left out",
        "packets",
        "octets to\nresponder",
        "octets from\nresponder",
        "retrans-\nmitted",
        "median\nrequest",
        "median\nresponse",
        "reasons for leaving out",
    ]
    .map(str::to_owned);
    let mut table = Table::new(&titles, |column| if matches!(column, 0 | 9) { Kind::Text } else { Kind::Number });
    for class in &derived.workload.classes {
        table.add_row(row(class));
    }
    table.may_leave_out(LeftOut::Last, vec![6, 5, 4, 3]);
    table
}

fn row(class: &Class) -> [String; 10] {
    // Of UDP the sizes of datagrams.
    let names = match class.transport {
        Protocol::Tcp => ["request", "response"],
        Protocol::Udp => ["size", "size_back"],
    };
    let [request, response] = names
        .map(|name| class.distribution(name).map_or("-".to_owned(), |d| format!("{:.0} B", d.model.quantile(0.5))));
    let totals = &class.totals;
    let reasons: Vec<String> = class.left_out.present().map(|(reason, count)| format!("{count} {reason}")).collect();
    [
        format!("{} ({})", class.name, captured::transport(class.transport)),
        class.conversations.to_string(),
        class.left_out.total().to_string(),
        totals.packets.iter().sum::<u64>().to_string(),
        output::size(totals.octets[0]),
        output::size(totals.octets[1]),
        totals.retransmitted.iter().sum::<u64>().to_string(),
        request,
        response,
        reasons.join(", "),
    ]
}

/// Prints what the files had in all, and which packets belong to no conversation.
fn summary(derived: &Derived) {
    let totals = &derived.totals;
    let seconds = totals.time.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9);
    let left_out: Vec<String> = totals.left_out.present().map(|(reason, count)| format!("{count} {reason}")).collect();
    let left_out = if left_out.is_empty() { String::new() } else { format!("; left out: {}", left_out.join(", ")) };
    output::say(&format!("{} in {seconds:.3} s{left_out}", output::count(totals.records, "packet")));
    if totals.evicted > 0 {
        output::say(&format!(
            "{} were removed from the full table of open conversations",
            output::count(totals.evicted, "conversation")
        ));
    }
    if derived.restarts > 0 {
        output::say(&match derived.restarts {
            1 => "1 file begins before the end of the one before, and counts as a capture of its own".to_owned(),
            more => format!("{more} files begin before the end of the one before, and count as captures of their own"),
        });
    }
    let missing: u64 = derived.workload.classes.iter().map(|class| class.totals.missing).sum();
    if missing > 0 {
        output::say(&format!(
            "octets that were acknowledged are not in the capture, in {}",
            output::count(missing, "conversation")
        ));
    }
}
