//! Wire formats: ATM cell, AAL5, LLC/SNAP, IP and TCP headers, and a pcap writer.
