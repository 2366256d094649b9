"""Cases of Kafka's own cleaner tests, each with the test here that covers it.

Kafka's tests are those of 4.3, by their names in `LogCleanerTest`, `LogCleanerManagerTest` and, as
far as compaction is concerned, `LogManagerTest`. Intended differences are in
docs/decisions/0012-compaction.md. Two kinds are left out: registration and removal of metrics,
since ours are one catalogue, and one test of readers, which a cleaner never serves.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

UNIT: Final = Path(__file__).parent / "unit"
LOGS: Final = "compaction/test_cleaned_logs.py"
CLEANER: Final = "compaction/test_log_cleaner.py"
CHOOSING: Final = "compaction/plan/test_candidates.py"
GROUPING: Final = "compaction/plan/test_segment_groups.py"
CHUNKS: Final = "compaction/passes/test_chunk_reader.py"
REWRITE: Final = "compaction/engine/test_plain_rewriter.py"
SURVEY: Final = "compaction/engine/test_header_survey.py"
KEYMAP: Final = "compaction/engine/test_plain_key_map.py"
PASSES: Final = "compaction/passes/test_cleaning_pass.py"
MANAGER: Final = "storage/manager/test_log_manager.py"
UPKEEP: Final = "storage/manager/test_maintenance_tasks.py"

CLEANER_SCENARIOS: Final[Mapping[str, tuple[str, str]]] = {
    "testCleanSegments": (LOGS, "test_superseded_records_are_removed"),
    "testCleanSegmentsWithConcurrentSegmentDeletion": (
        "storage/log/test_segment_swap.py",
        "test_replacement_is_rejected_when_segments_were_deleted",
    ),
    "testSizeTrimmedForPreallocatedAndCompactedTopic": (
        "compaction/passes/test_segment_writer.py",
        "test_segment_is_not_preallocated_when_the_topic_preallocates",
    ),
    "testDuplicateCheckAfterCleaning": (
        LOGS,
        "test_producers_keep_their_sequences_after_their_records_are_removed",
    ),
    "testMultiPassSegmentCleaningWithAbortedTransactions": (
        LOGS,
        "test_pass_with_little_memory_covers_the_whole_range",
    ),
    "testBasicTransactionAwareCleaning": (
        LOGS,
        "test_aborted_records_are_removed_and_their_markers_and_entries_stay",
    ),
    "testCleanWithTransactionsSpanningSegments": (
        LOGS,
        "test_segments_with_undecided_records_are_not_touched",
    ),
    "testCommitMarkerRemoval": (
        LOGS,
        "test_commit_marker_is_removed_delete_retention_after_its_records",
    ),
    "testDeletedBatchesWithNoMessagesRead": (
        CHUNKS,
        "test_buffer_grows_for_a_batch_that_is_larger",
    ),
    "testCommitMarkerRetentionWithEmptyBatch": (
        LOGS,
        "test_commit_marker_stays_while_an_empty_batch_of_its_transaction_does",
    ),
    "testCleanEmptyControlBatch": (SURVEY, "test_empty_marker_is_deleted"),
    "testCommittedTransactionSpanningSegments": (
        LOGS,
        "test_committed_transaction_over_several_segments_is_retained_in_all_of_them",
    ),
    "testAbortedTransactionSpanningSegments": (
        LOGS,
        "test_aborted_transaction_over_several_segments_is_removed_from_all_of_them",
    ),
    "testAbortMarkerRemoval": (
        LOGS,
        "test_abort_marker_is_removed_delete_retention_after_its_records",
    ),
    "testEmptyBatchRemovalWithSequenceReuse": (
        SURVEY,
        "test_batch_after_the_last_record_of_its_producer_has_the_default_retention",
    ),
    "testAbortMarkerRetentionWithEmptyBatch": (
        LOGS,
        "test_abort_marker_stays_while_an_empty_batch_of_its_transaction_does",
    ),
    "testLargeMessage": (CHUNKS, "test_buffer_grows_for_a_batch_that_is_larger"),
    "testMessageLargerThanMaxMessageSize": (CHUNKS, "test_buffer_grows_for_a_batch_that_is_larger"),
    "testMessageLargerThanMaxMessageSizeWithCorruptHeader": (
        CHUNKS,
        "test_error_for_damage_names_file_and_position",
    ),
    "testCorruptMessageSizeLargerThanBytesAvailable": (
        CHUNKS,
        "test_error_for_damage_names_file_and_position",
    ),
    "testCleaningWithDeletes": (REWRITE, "test_tombstone_is_removed_at_its_delete_horizon"),
    "testLogCleanerStats": (PASSES, "test_certificate_has_the_counts_of_the_pass"),
    "testLogCleanerRetainsProducerLastSequence": (
        LOGS,
        "test_last_batch_of_a_producer_stays_empty_until_a_later_batch",
    ),
    "testLogCleanerRetainsLastSequenceEvenIfTransactionAborted": (
        REWRITE,
        "test_deleted_data_is_removed_or_leaves_an_empty_header",
    ),
    "testCleaningWithKeysConflictingWithTxnMarkerKeys": (
        KEYMAP,
        "test_control_and_dropped_batches_never_enter",
    ),
    "testPartialSegmentClean": (KEYMAP, "test_dirty_range_may_begin_within_a_batch"),
    "testCleaningWithUncleanableSection": (
        "compaction/plan/test_plan_builder.py",
        "test_plan_has_the_whole_log_up_to_where_it_may_be_cleaned",
    ),
    "testLogToClean": (CHOOSING, "test_bytes_are_those_of_whole_segments"),
    "testLogToCleanWithUncleanableSection": (
        CHOOSING,
        "test_high_watermark_and_last_stable_offset_bound_whole_segments",
    ),
    "testCleaningWithUnkeyedMessages": (LOGS, "test_records_without_keys_are_removed_and_counted"),
    "testCleanSegmentsWithAbort": (PASSES, "test_stopped_pass_leaves_no_files"),
    "testCleanSegmentsRetainingLastEmptyBatch": (
        LOGS,
        "test_last_batch_of_a_pass_is_retained_when_empty",
    ),
    "testSegmentGrouping": (
        GROUPING,
        "test_indexes_of_a_group_are_as_large_as_segment_index_bytes_at_most",
    ),
    "testSegmentGroupingWithSparseOffsetsAndEmptySegments": (
        GROUPING,
        "test_empty_segments_join_the_previous_group",
    ),
    "testSegmentGroupingWithSparseOffsets": (
        GROUPING,
        "test_offsets_of_a_group_are_within_31_bits_of_its_base",
    ),
    "testSegmentGroupingFollowingLoadOfZeroIndex": (
        GROUPING,
        "test_next_base_offset_counts_as_the_last_offset_of_a_segment",
    ),
    "testBuildOffsetMap": (KEYMAP, "test_last_record_of_each_key_is_marked"),
    "testBuildOffsetMapFakeLarge": (LOGS, "test_segment_that_is_too_wide_becomes_several"),
    "testBuildPartialOffsetMap": (
        KEYMAP,
        "test_marks_do_not_depend_on_the_memory_limit",
    ),
    "testSegmentWithOffsetOverflow": (LOGS, "test_segment_that_is_too_wide_becomes_several"),
    "testRecoveryAfterCrash": (
        LOGS,
        "test_log_is_the_old_or_the_new_when_it_is_opened_after_a_crash",
    ),
    "testCleanCorruptMessageSet": (PASSES, "test_pass_fails_on_records_that_are_damaged"),
    "testCleanTombstone": (
        LOGS,
        "test_tombstone_with_an_old_time_stays_for_a_retention_from_its_first_pass",
    ),
    "testCleaningBeyondMissingOffsets": (
        LOGS,
        "test_next_pass_begins_at_the_active_segment_though_offsets_are_missing_before_it",
    ),
    "testReconfigureLogCleanerIoMaxBytesPerSecond": (
        "compaction/runner/test_throttler.py",
        "test_new_rate_applies_immediately",
    ),
}

MANAGER_SCENARIOS: Final[Mapping[str, tuple[str, str]]] = {
    "testGrabFilthiestCompactedLogThrowsException": (
        CLEANER,
        "test_log_with_an_unreadable_directory_is_reported_and_retried",
    ),
    "testGrabFilthiestCompactedLogReturnsLogWithDirtiestRatio": (
        CHOOSING,
        "test_filthiest_due_log_comes_first",
    ),
    "testGrabFilthiestCompactedLogIgnoresUncleanablePartitions": (
        CLEANER,
        "test_log_that_fails_keeps_no_other_from_being_cleaned",
    ),
    "testGrabFilthiestCompactedLogIgnoresInProgressPartitions": (
        CLEANER,
        "test_log_has_at_most_one_running_pass",
    ),
    "testGrabFilthiestCompactedLogIgnoresBothInProgressPartitionsAndUncleanablePartitions": (
        CLEANER,
        "test_concurrent_passes_are_limited_by_the_threads",
    ),
    "testDirtyOffsetResetIfLargerThanEndOffset": (
        CHOOSING,
        "test_checkpoint_beyond_the_end_is_reset_to_the_start",
    ),
    "testDirtyOffsetResetIfSmallerThanStartOffset": (
        CHOOSING,
        "test_checkpoint_below_the_start_is_reset_to_it",
    ),
    "testLogStartOffsetLargerThanActiveSegmentBaseOffset": (
        CHOOSING,
        "test_no_byte_is_cleanable_when_the_start_or_the_checkpoint_is_in_the_active_segment",
    ),
    "testDirtyOffsetLargerThanActiveSegmentBaseOffset": (
        CHOOSING,
        "test_no_byte_is_cleanable_when_the_start_or_the_checkpoint_is_in_the_active_segment",
    ),
    "testLogsWithSegmentsToDeleteShouldNotConsiderCleanupPolicyDeleteLogs": (
        CLEANER,
        "test_log_that_is_not_compacted_is_not_cleaned",
    ),
    "testLogsWithSegmentsToDeleteShouldConsiderCleanupPolicyCompactDeleteLogs": (
        CLEANER,
        "test_retention_runs_on_a_log_that_is_compacted_and_deleted",
    ),
    "testLogsWithSegmentsToDeleteShouldConsiderCleanupPolicyCompactLogs": (
        "storage/log/test_retention.py",
        "test_segments_below_the_log_start_are_deleted_in_a_compacted_log",
    ),
    "testLogsWithSegmentsToDeleteShouldNotConsiderUncleanablePartitions": (
        CLEANER,
        "test_failed_pass_is_tried_again_after_longer_each_time",
    ),
    "testLogsUnderCleanupIneligibleForCompaction": (
        CLEANER,
        "test_paused_log_is_not_cleaned",
    ),
    "testUpdateCheckpointsShouldAddOffsetToPartition": (
        CLEANER,
        "test_dirty_log_is_cleaned_and_checkpointed",
    ),
    "testUpdateCheckpointsShouldRemovePartitionData": (
        MANAGER,
        "test_recreated_log_inherits_no_state",
    ),
    "testHandleLogDirFailureShouldRemoveDirAndData": (
        MANAGER,
        "test_cleaner_of_a_log_has_to_stop_when_its_directory_fails",
    ),
    "testMaybeTruncateCheckpointShouldTruncateData": (
        "storage/manager/test_log_truncation.py",
        "test_truncation_lowers_the_checkpoints_on_disk_too",
    ),
    "testAlterCheckpointDirShouldRemoveDataInSrcDirAndAddInNewDir": (
        MANAGER,
        "test_future_log_inherits_the_cleaned_offset",
    ),
    "testConcurrentLogCleanupAndLogTruncation": (
        CLEANER,
        "test_log_truncated_during_a_pass_keeps_its_records",
    ),
    "testConcurrentLogCleanupAndTopicDeletion": (
        CLEANER,
        "test_log_deleted_during_a_pass_is_not_a_failure",
    ),
    "testCleanableOffsetsForNone": (CHOOSING, "test_log_is_dirty_from_its_checkpoint_on"),
    "testCleanableOffsetsActiveSegment": (CHOOSING, "test_active_segment_is_not_cleaned"),
    "testCleanableOffsetsForTime": (
        CHOOSING,
        "test_first_young_segment_and_all_behind_it_are_not_cleaned",
    ),
    "testCleanableOffsetsForShortTime": (
        CHOOSING,
        "test_records_with_future_timestamps_are_young_under_a_lag",
    ),
    "testCleanableOffsetsNeedsCheckpointReset": (
        CHOOSING,
        "test_start_moved_by_retention_resets_the_dirty_offset",
    ),
    "testUndecidedTransactionalDataNotCleanable": (
        CHOOSING,
        "test_records_of_an_undecided_transaction_are_not_cleaned_until_it_is_over",
    ),
    "testDoneCleaning": (CLEANER, "test_cleaner_holds_the_lease_while_a_pass_runs"),
    "testDoneDeleting": (
        CLEANER,
        "test_cleaning_starts_at_the_log_start_after_retention",
    ),
    "testCheckpointUpdatedForInvalidOffsetNoCleaning": (
        CHOOSING,
        "test_checkpoint_is_reset_of_a_log_that_is_not_chosen",
    ),
    "testCheckpointUpdatedForInvalidOffsetNotSelected": (
        CLEANER,
        "test_checkpoint_of_a_log_that_is_not_compacted_is_corrected",
    ),
}

LOG_SCENARIOS: Final[Mapping[str, tuple[str, str]]] = {
    "testCleanupSegmentsToMaintainSize": (
        UPKEEP,
        "test_retention_by_size_keeps_the_segments_and_indexes_within_it",
    ),
    "testDoesntCleanLogsWithCompactPolicy": (
        UPKEEP,
        "test_retention_skips_compacted_logs_and_logs_with_a_lease",
    ),
    "testDoesntCleanLogsWithCompactDeletePolicy": (
        UPKEEP,
        "test_retention_skips_compacted_logs_and_logs_with_a_lease",
    ),
    "testTopicConfigChangeStopCleaningIfCompactIsRemoved": (
        CLEANER,
        "test_pass_stops_when_the_log_is_not_compacted_any_more",
    ),
    "testLeastLoadedAssignment": (
        "storage/manager/test_bulk_log_creation.py",
        "test_bulk_logs_are_spread_over_the_directories",
    ),
    "testCreateAndDeleteOverlyLongTopic": (
        "storage/manager/test_log_renames.py",
        "test_name_of_a_deleted_directory_is_at_most_255_bytes",
    ),
    "testCheckpointLogStartOffsetForNormalTopic": (
        UPKEEP,
        "test_log_start_between_segments_is_remembered_until_retention_has_passed",
    ),
    "testCleanShutdownFileWhenShutdownCalledBeforeStartupComplete": (
        MANAGER,
        "test_manager_closed_before_loading_writes_no_clean_marker",
    ),
    "testTwoLogManagersUsingSameDirFails": (
        MANAGER,
        "test_second_manager_of_a_directory_is_rejected_until_the_first_is_closed",
    ),
}

SCENARIOS: Final = {**CLEANER_SCENARIOS, **MANAGER_SCENARIOS, **LOG_SCENARIOS}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario_is_also_run_with_our_cleaner(scenario: str) -> None:
    path, name = SCENARIOS[scenario]

    assert re.search(rf"^def {name}\(", (UNIT / path).read_text(), re.MULTILINE), (path, name)
