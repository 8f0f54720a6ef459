//! The transport between gateways: opaque packets over QUIC, or over TLS where UDP does not get through.
