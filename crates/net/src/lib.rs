//! What stands in the network: lines, links, queues, routers, switches, segmentation and reassembly, as state machines without I/O.
