package tidemark;

import java.io.IOException;

/** Ends this process when whoever started it is gone and its standard input with it. */
final class Tether {
    private Tether() {}

    static void hold() {
        Thread t =
                new Thread(
                        () -> {
                            try {
                                while (System.in.read() >= 0) {}
                            } catch (IOException gone) {
                                // As at its end.
                            }
                            Runtime.getRuntime().halt(1);
                        });
        t.setDaemon(true);
        t.start();
    }
}
