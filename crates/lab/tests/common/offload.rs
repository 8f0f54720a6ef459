//! Captures as hosts make them that divide and join segments on their network cards.

/// The octets of the header of the file, and of that of a record.
const FILE: usize = 24;
const RECORD: usize = 16;
const IP: usize = 20;

struct Segment<'a> {
    /// Since the start of the file.
    nanoseconds: u64,
    ends: &'a [u8],
    ports: &'a [u8],
    seq: u32,
    header: usize,
    payload: usize,
}

/// Reads a record with an IPv4 packet of TCP.
fn segment(record: &[u8]) -> Segment<'_> {
    let number = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
    let ip = &record[RECORD..];
    let header = IP + usize::from(ip[IP + 12] >> 4) * 4;
    Segment {
        nanoseconds: u64::from(number(0)) * 1_000_000_000 + u64::from(number(4)),
        ends: &ip[12..20],
        ports: &ip[IP..IP + 4],
        seq: u32::from_be_bytes(ip[IP + 4..IP + 8].try_into().unwrap()),
        header,
        payload: usize::from(u16::from_be_bytes([ip[2], ip[3]])) - header,
    }
}

fn records(capture: &[u8]) -> Vec<&[u8]> {
    assert_eq!(capture[..4], 0xa1b2_3c4d_u32.to_le_bytes(), "a capture with times in ns, in the order of x86");
    let mut records = Vec::new();
    let mut rest = &capture[FILE..];
    while !rest.is_empty() {
        let kept = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, after) = rest.split_at(RECORD + kept);
        records.push(record);
        rest = after;
    }
    records
}

/// Returns the part of a capture from a time (ns) after its first packet.
pub(crate) fn from(capture: &[u8], time: u64) -> Vec<u8> {
    let records = records(capture);
    let start = segment(records[0]).nanoseconds;
    let later = records.into_iter().filter(|record| segment(record).nanoseconds - start >= time);
    let mut all = capture[..FILE].to_vec();
    later.for_each(|record| all.extend(record));
    all
}

/// Joins segments of data that follow one another within `time` (ns) to ones of up to `most` segments. `is_first` keeps
/// the time of the first, as a sender does that has them divided later, else that of the last, as a receiver.
pub(crate) fn joined(capture: &[u8], most: usize, time: u64, is_first: bool) -> Vec<u8> {
    let records = records(capture);
    let mut all = capture[..FILE].to_vec();
    let mut at = 0;
    while at < records.len() {
        let first = segment(records[at]);
        let (mut count, mut octets) = (1, first.payload);
        while first.payload > 0 && count < most && at + count < records.len() {
            let next = segment(records[at + count]);
            let is_next = next.ends == first.ends
                && next.ports == first.ports
                && next.payload > 0
                && next.seq == first.seq.wrapping_add(octets as u32)
                && next.nanoseconds - first.nanoseconds <= time
                && first.header + octets + next.payload <= 65_535;
            if !is_next {
                break;
            }
            octets += next.payload;
            count += 1;
        }
        let headers = &records[at][RECORD..RECORD + first.header];
        let times = &records[if is_first { at } else { at + count - 1 }][..8];
        all.extend(times);
        all.extend((first.header as u32).to_le_bytes());
        all.extend(((first.header + octets) as u32).to_le_bytes());
        all.extend(&headers[..2]);
        all.extend(((first.header + octets) as u16).to_be_bytes());
        all.extend(&headers[4..]);
        at += count;
    }
    all
}
