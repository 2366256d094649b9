import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/** A clock whose time comes with each question; nothing waits by it. */
final class StandingClock implements Time {
    private final LongSupplier nowMs;

    StandingClock(LongSupplier nowMs) {
        this.nowMs = nowMs;
    }

    @Override
    public long milliseconds() {
        return nowMs.getAsLong();
    }

    @Override
    public long nanoseconds() {
        return milliseconds() * 1_000_000;
    }

    @Override
    public void sleep(long ms) {
        throw new UnsupportedOperationException("nobody waits here");
    }

    @Override
    public void waitObject(Object subject, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException("nobody waits here");
    }
}
