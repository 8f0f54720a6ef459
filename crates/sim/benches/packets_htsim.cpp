// The cases of packets over three or more lines of packets.rs in htsim (https://github.com/Broadcom/csg-htsim): bulk
// transfers whose hosts are attached by lines of 1 Gbit/s and 100 us to lines of 155 Mbit/s with a delay of 10 ms
// together. Packets have 1500 octets, windows hold 1 MiB, routers' buffers 400 kB, and each segment is acknowledged.
//
// htsim_packets FLOWS SECONDS [LINES] prints the packet-hops as JSON. tools/engine_bench builds and runs it.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

namespace {

const linkspeed_bps SHARED = 155000000, ACCESS = 1000000000;
const mem_b ROUTER = 400000, HOST = mem_b(1) << 40;
const int PACKET = 1500;

// An output line: the buffer in front of it and its delay.
struct Line {
    Queue* queue;
    Pipe* pipe;
};

Line line(linkspeed_bps rate, double delay_us, mem_b buffer, EventList& events) {
    return {new Queue(rate, buffer, events, NULL), new Pipe(timeFromUs(delay_us), events)};
}

void append(Route& route, const Line& line) {
    route.push_back(line.queue);
    route.push_back(line.pipe);
}

}  // namespace

int main(int argc, char** argv) {
    const int flows = argc > 1 ? atoi(argv[1]) : 0;
    const double seconds = argc > 2 ? atof(argv[2]) : 0;
    const int lines = argc > 3 ? atoi(argv[3]) : 3;
    if (flows < 1 || seconds <= 0 || lines < 3) {
        std::cerr << "usage: htsim_packets FLOWS SECONDS [LINES], with at least 3 lines\n";
        return 2;
    }
    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(seconds));
    Packet::set_packet_size(PACKET);

    const int shared = lines - 2;
    std::vector<Line> forth, back;
    for (int i = 0; i < shared; i++) {
        forth.push_back(line(SHARED, 10000.0 / shared, ROUTER, events));
        back.push_back(line(SHARED, 10000.0 / shared, ROUTER, events));
    }

    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<TcpSink*> sinks;
    for (int flow = 0; flow < flows; flow++) {
        TcpSrc* source = new TcpSrc(NULL, NULL, events);
        TcpSink* sink = new TcpSink();
        source->_maxcwnd = 1 << 20;
        source->set_ssthresh(0xffffffff);
        Route* there = new Route();
        Route* here = new Route();
        append(*there, line(ACCESS, 100, HOST, events));
        append(*here, line(ACCESS, 100, HOST, events));
        for (int i = 0; i < shared; i++) {
            append(*there, forth[i]);
            append(*here, back[i]);
        }
        append(*there, line(ACCESS, 100, ROUTER, events));
        append(*here, line(ACCESS, 100, ROUTER, events));
        there->push_back(sink);
        here->push_back(source);
        timers.registerTcp(*source);
        source->connect(*there, *here, *sink, timeFromUs(10.0 * flow));
        sinks.push_back(sink);
    }
    while (events.doNextEvent()) {
    }

    // What reached a sink left each line, and so did its acknowledgement. What a buffer dropped had left those before.
    uint64_t hops = 0;
    for (TcpSink* sink : sinks) {
        hops += sink->_packets / PACKET * uint64_t(lines) * 2;
    }
    for (int i = 0; i < shared; i++) {
        hops += uint64_t(forth[i].queue->num_drops()) * (1 + i);
    }
    std::cout << "{\"packet_hops\": " << hops << "}" << std::endl;
}
