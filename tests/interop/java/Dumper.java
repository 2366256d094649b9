import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.tools.DumpLogSegments;

/** Runs Kafka's dump tool once a line: arguments with tabs between them in, three words out. */
public class Dumper {
    public static void main(String[] none) throws Exception {
        PrintStream answers = System.out;
        PrintStream words = System.err;
        BufferedReader questions =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            String failure = "-";
            try {
                DumpLogSegments.main(line.split("\t"));
            } catch (Throwable error) {
                failure = error.getClass().getSimpleName();
            }
            System.setErr(words);
            answers.println(text(out) + " " + text(err) + " " + failure);
            answers.flush();
        }
    }

    private static String text(ByteArrayOutputStream bytes) {
        return "." + Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
