# One point of the grid in ns-2: bulk TCP flows over one line with a drop-tail buffer.
#
#   ns line.tcl KEY=VALUE ...
#
# Prints `name value` lines, taken between `warmup` and `duration`.

set variant newreno   ;# tahoe, reno, newreno, sack
set acks plain        ;# plain: each segment is acknowledged; delack: every second one
set rate 10e6         ;# bit/s
set rtt 0.1           ;# s, propagation both ways
set buffer 62         ;# packets
set flows 1
set forward ""        ;# numbers of the packets that the line loses there, from 1, with commas: 5,17
set back ""           ;# and on the way back
set tick 0.1          ;# s
set minrto 0.2        ;# s
set initial 1         ;# segments
set limited 1         ;# limited transmit
set mss 1460          ;# B
set duration 60       ;# s
set warmup 0          ;# s
set stagger 0         ;# s between the starts of flows
set window 1000000    ;# segments
set ssthresh ""       ;# segments, at first; empty: the receive window
set bugfix ""         ;# empty: by the variant
foreach word $argv { regexp {^(.*?)=(.*)$} $word all key value; set $key $value }

array set senders {tahoe Agent/TCP reno Agent/TCP/Reno newreno Agent/TCP/Newreno sack Agent/TCP/Sack1}
array set sinks {plain Agent/TCPSink delack Agent/TCPSink/DelAck}
if {$variant eq "sack"} { array set sinks {plain Agent/TCPSink/Sack1 delack Agent/TCPSink/Sack1/DelAck} }

# The keys that Cellway has too, with the same values; the others as ns-2 has them.
Agent/TCP set packetSize_ $mss
Agent/TCP set window_ $window
Agent/TCP set windowInit_ $initial
Agent/TCP set tcpTick_ $tick
Agent/TCP set minrto_ $minrto
Agent/TCP set maxrto_ 64
Agent/TCP set rtxcur_init_ 3
# Duplicates of what was sent before the last loss are no loss: RFC 6582 and RFC 6675 say so, RFC 5681 and Jacobson do not.
Agent/TCP set bugFix_ [expr {$bugfix eq "" ? $variant eq "newreno" || $variant eq "sack" : $bugfix}]
Agent/TCP set rfc2988_ true
Agent/TCP set singledup_ $limited
Agent/TCP set syn_ true
# The SYN goes alone, and the window is `windowInit_` once it is acknowledged.
Agent/TCP set delay_growth_ true
Agent/TCP set slow_start_restart_ true
# RFC 6582 section 3.2 (3), choice 1: what is outstanding bounds the window at the end of a recovery.
Agent/TCP/Newreno set exit_recovery_fix_ 1
Agent/TCPSink set packetSize_ 40
Agent/TCPSink/DelAck set interval_ 0.1
# RFC 5681 section 4.2: what fills a gap is acknowledged at once.
Agent/TCPSink set RFC2581_immediate_ack_ true
Agent/TCPSink set SYN_immediate_ack_ true

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $rate [expr {$rtt / 2.0}] DropTail
# Its limit counts one packet more than can wait beside the one being sent: with $buffer it would hold one less than ours.
$ns queue-limit $left $right [expr {$buffer + 1}]
$ns queue-limit $right $left 1000000
set monitor [$ns monitor-queue $left $right ""]
# Behind the queue, so that what is lost has used the line (`lossmodel` has it before the queue).
foreach {from to numbers} [list $left $right $forward $right $left $back] {
    if {$numbers eq ""} continue
    set places {}
    foreach number [split $numbers ,] { lappend places [expr {$number - 1}] }
    set errors [new ErrorModel/List]
    $errors droplist $places
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $from $to
}
for {set i 0} {$i < $flows} {incr i} {
    set from [$ns node]
    set to [$ns node]
    $ns duplex-link $from $left 1Gb 0ms DropTail
    $ns duplex-link $right $to 1Gb 0ms DropTail
    foreach {a b} [list $from $left $left $from $right $to $to $right] { $ns queue-limit $a $b 1000000 }
    set tcp($i) [new $senders($variant)]
    set sink($i) [new $sinks($acks)]
    $ns attach-agent $from $tcp($i)
    $ns attach-agent $to $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [expr {$i * $stagger}] "$ftp start"
    # The start sets it, too.
    if {$ssthresh ne ""} { $ns at [expr {$i * $stagger + 1e-9}] "$tcp($i) set ssthresh_ $ssthresh" }
}

# What has been counted so far, by name.
proc counts {} {
    global flows tcp sink monitor
    array set n {bytes 0 timeouts 0 retransmissions 0 sent 0}
    for {set i 0} {$i < $flows} {incr i} {
        # Delivered in order, with 40 octets of headers a packet.
        set n(bytes) [expr {$n(bytes) + [$sink($i) set bytes_]}]
        set n(timeouts) [expr {$n(timeouts) + [$tcp($i) set nrexmit_]}]
        set n(retransmissions) [expr {$n(retransmissions) + [$tcp($i) set nrexmitpack_]}]
        set n(sent) [expr {$n(sent) + [$tcp($i) set ndatapack_]}]
    }
    set n(drops) [$monitor set pdrops_]
    return [array get n]
}
proc finish {} {
    global before duration warmup mss
    array set b $before
    foreach {key value} [counts] {
        set value [expr {$value - $b($key)}]
        if {$key eq "bytes"} {
            puts "goodput [expr {$value * 8.0 * $mss / ($mss + 40) / ($duration - $warmup)}]"
        } else {
            puts "$key $value"
        }
    }
    exit 0
}
$ns at $warmup { set before [counts] }
$ns at $duration finish
$ns run
