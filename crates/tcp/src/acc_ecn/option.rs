//! The AccECN option. RFC 9768 §3.2.3.

use cellway_units::Ecn;

/// The order of the fields of an option, which its kind names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldOrder {
    /// ECT(0), CE, ECT(1): AccECN0, kind 172.
    Ect0First,
    /// ECT(1), CE, ECT(0): AccECN1, kind 174.
    Ect1First,
}

impl FieldOrder {
    /// Returns the codepoints in this order.
    pub const fn codepoints(self) -> [Ecn; 3] {
        match self {
            FieldOrder::Ect0First => [Ecn::Ect0, Ecn::Ce, Ecn::Ect1],
            FieldOrder::Ect1First => [Ecn::Ect1, Ecn::Ce, Ecn::Ect0],
        }
    }
}

/// The payload bytes that arrived with each codepoint, modulo 2^24. Fields at the end may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnOption {
    order: FieldOrder,
    len: u8,
    /// In network byte order, as in the header: a segment is copied often.
    fields: [[u8; 3]; 3],
}

impl AccEcnOption {
    /// Creates an option with the first `len` fields of the order, each with the 24 lowest bits of its count (bytes).
    pub fn new(order: FieldOrder, len: usize, count: impl Fn(Ecn) -> u32) -> AccEcnOption {
        let fields = order.codepoints().map(|codepoint| {
            let [_, fields @ ..] = count(codepoint).to_be_bytes();
            fields
        });
        let mut option = AccEcnOption { order, len: len.min(3) as u8, fields };
        option.fields[usize::from(option.len)..].fill([0; 3]);
        option
    }
    /// Returns the order of its fields.
    pub fn order(&self) -> FieldOrder {
        self.order
    }
    /// Returns its fields: the codepoint, and the count modulo 2^24 (bytes).
    pub fn fields(&self) -> impl Iterator<Item = (Ecn, u32)> + use<> {
        let fields = self.fields.map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]));
        self.order.codepoints().into_iter().zip(fields).take(self.len.into())
    }
    /// Returns its octets in a header, without padding.
    pub fn octets(&self) -> u32 {
        2 + 3 * u32::from(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_has_the_fields_of_its_order_modulo_2_24() {
        let count = |codepoint| match codepoint {
            Ecn::Ect0 => (7 << 24) + 1,
            Ecn::Ce => 0x00ab_cdef,
            _ => 3,
        };
        let all = |order, len| AccEcnOption::new(order, len, count).fields().collect::<Vec<_>>();
        assert_eq!(all(FieldOrder::Ect0First, 3), [(Ecn::Ect0, 1), (Ecn::Ce, 0x00ab_cdef), (Ecn::Ect1, 3)]);
        assert_eq!(all(FieldOrder::Ect1First, 2), [(Ecn::Ect1, 3), (Ecn::Ce, 0x00ab_cdef)]);
        assert_eq!(all(FieldOrder::Ect1First, 0), []);
        let octets = [0, 1, 2, 3].map(|len| AccEcnOption::new(FieldOrder::Ect0First, len, count).octets());
        assert_eq!(octets, [2, 5, 8, 11], "table 5");
        let one = |ce| AccEcnOption::new(FieldOrder::Ect0First, 1, |c| if c == Ecn::Ce { ce } else { 1 });
        assert_eq!(one(1), one(2), "fields that are left out do not count");
    }
}
