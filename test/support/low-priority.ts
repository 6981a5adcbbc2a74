import { setPriority } from 'node:os';

// A test in real time goes first when the processor is busy.
setPriority(10);
