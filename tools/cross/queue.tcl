# Datagrams at exponential distances into one queue before a line.
#
#   ns queue.tcl KEY=VALUE ...
#
# Prints `name value` lines, taken between `warmup` and `duration`.

set discipline DropTail ;# DropTail, RED
set adaptive 0        ;# 1: adaptive RED
set rate 10e6         ;# bit/s
set load 1.0          ;# of the rate
set packet 1000       ;# B
set buffer 100        ;# packets that wait
set min 5             ;# packets
set max 15
set weight 0.002
set maxp 0.02
set mean 500          ;# B
set target 0.005      ;# s, of adaptive RED
set duration 60       ;# s
set warmup 10         ;# s
set seed 1
foreach word $argv { regexp {^(.*?)=(.*)$} $word all key value; set $key $value }

ns-random $seed
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set gentle_ true
# A drop is possible at once after the last one, as in figure 2 of the paper of RED.
Queue/RED set wait_ false
Queue/RED set setbit_ false
Queue/RED set mean_pktsize_ $mean
Queue/RED set adaptive_ $adaptive
if {$adaptive} {
    # 0: from the rate and the target.
    Queue/RED set thresh_ 0
    Queue/RED set maxthresh_ 0
    Queue/RED set q_weight_ 0
    Queue/RED set targetdelay_ $target
    Queue/RED set linterm_ 10
} else {
    Queue/RED set thresh_ $min
    Queue/RED set maxthresh_ $max
    Queue/RED set q_weight_ $weight
    Queue/RED set linterm_ [expr {1.0 / $maxp}]
}

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $rate 1ms $discipline
# The limit of both counts one packet more than can wait beside the one being sent.
$ns queue-limit $left $right [expr {$buffer + 1}]
set monitor [$ns monitor-queue $left $right ""]

set udp [new Agent/UDP]
$udp set packetSize_ $packet
set null [new Agent/Null]
$ns attach-agent $left $udp
$ns attach-agent $right $null
$ns connect $udp $null
# With bursts of no length each has one packet, which takes no time at this rate.
set source [new Application/Traffic/Exponential]
$source set packetSize_ $packet
$source set burst_time_ 0
$source set idle_time_ [expr {$packet * 8.0 / ($load * $rate)}]
$source set rate_ 1e15
$source attach-agent $udp

set before {}
proc counts {} {
    global monitor ns
    set packets [$monitor get-pkts-integrator]
    # The integral is up to the last change.
    return [list [$monitor set parrivals_] [$monitor set pdrops_] [$monitor set pdepartures_] [$packets set sum_]]
}
$ns at 0.0 "$source start"
$ns at $warmup "set before \[counts\]"
$ns at $duration {
    lassign $before arrivals0 drops0 departures0 sum0
    lassign [counts] arrivals drops departures sum
    puts "arrivals [expr {$arrivals - $arrivals0}]"
    puts "dropped [expr {$drops - $drops0}]"
    puts "sent [expr {$departures - $departures0}]"
    puts "queue [expr {($sum - $sum0) / ($duration - $warmup)}]"
    exit 0
}
$ns run
