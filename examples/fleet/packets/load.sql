-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

-- {files} are the envelopes of traces, in folders that name the host: "host=NAME".
-- {schema} is this library's trace.proto, whose Trace is called Envelope. Columns
-- take their types from it; fields that contain their own type are left out.

INSERT INTO packets
SELECT host, replaceRegexpOne(_file, '-[0-9]{8}T[0-9.]+Z', ''), _file,
       trusted_packet_sequence_id, _row_number, trusted_pid, sequence_flags,
       previous_packet_dropped != 0, timestamp_clock_id, timestamp,
       trace_packet_defaults.timestamp_clock_id,
       trace_packet_defaults.track_event_defaults.track_uuid,
       arrayMap(c -> (c.clock_id, c.timestamp, c.is_incremental),
                clock_snapshot.clocks),
       track_event.type, track_event.track_uuid, track_event.categories[1],
       track_event.category_iids[1], track_event.name, track_event.name_iid,
       track_event.counter_value + track_event.double_counter_value,
       arrayMap(n -> (n.iid, n.name), interned_data.event_categories),
       arrayMap(n -> (n.iid, n.name), interned_data.event_names),
       track_descriptor.uuid,
       track_descriptor.name || track_descriptor.static_name ||
           track_descriptor.thread.thread_name ||
           track_descriptor.process.process_name,
       track_descriptor.thread.pid, track_descriptor.thread.tid,
       arrayMap(l -> (toString(l.reason), l.packets),
                arrayFlatten(trace_stats.buffer_stats.packets_lost))
FROM file('{files}', ProtobufList)
SETTINGS format_schema = '{schema}:TracePacket',
         input_format_protobuf_skip_fields_with_unsupported_types_in_schema_inference = 1
