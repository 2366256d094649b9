import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** The loop of a program that answers questions: one JSON object a line in, one a line out. */
public final class Questions {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Questions() {
    }

    /** What puts the answer of one question into a map. */
    public interface Answering {
        void answer(Map<String, Object> question, Map<String, Object> answer) throws Exception;
    }

    /** Answers until the input ends. Whatever else is printed goes to the standard error. */
    @SuppressWarnings("unchecked")
    public static void answer(Answering program) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            program.answer(JSON.readValue(line, Map.class), answer);
            answers.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            answers.flush();
        }
    }
}
