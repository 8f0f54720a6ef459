//! The CRC of AAL5.

/// x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1.
const GENERATOR: u32 = 0x04c1_1db7;

/// The value of the register, before the complement, after a valid PDU with its CRC.
pub const RESIDUE: u32 = 0xc704_dd7b;

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        let mut register = (octet as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            register = if register >> 31 == 0 { register << 1 } else { (register << 1) ^ GENERATOR };
            bit += 1;
        }
        table[octet] = register;
        octet += 1;
    }
    table
};

/// Returns the register after `octets`: it starts at all ones, most significant bit first.
pub fn residue(octets: &[u8]) -> u32 {
    octets
        .iter()
        .fold(u32::MAX, |register, &octet| (register << 8) ^ TABLE[usize::from((register >> 24) as u8 ^ octet)])
}

/// Returns the CRC of `octets`: the complement of the register. ITU-T I.363.5, section 9.2.1.2.
pub fn crc32(octets: &[u8]) -> u32 {
    !residue(octets)
}
