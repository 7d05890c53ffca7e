import { crashWindows } from './crash-windows.js';

crashWindows('postgres');
